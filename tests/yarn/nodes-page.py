# SPDX-License-Identifier: Apache-2.0
"""Prints what the ResourceManager's page of nodes (/cluster/nodes, on stdin) shows about a node: the number of running
opportunistic containers, their memory in GB, their vcores, and the number of queued containers, as "0 0 0 12". For 51-nodes.

    nodes-page.py N
"""
import html
import json
import re
import sys

COLUMNS = ["Running Containers (O)", "Mem Used (O)", "VCores Used (O)", "Queued Containers"]

page = sys.stdin.read()
# A script fills the page's table from rows of HTML fragments.
rows = json.loads(re.search(r"var nodeTableData=(\[.*?\])\s*</script>", page, re.S).group(1))
heads = [html.unescape(re.sub("<[^>]*>", " ", head)).strip()
         for head in re.findall(r"<th[^>]*>(.*?)</th>", page[page.index('id="nodes"'):], re.S)]
row = [r for r in rows if any("node0%s:" % sys.argv[1] in cell for cell in r)][-1]
cells = [re.sub("<[^>]*>", "", cell) for cell in row]
print(" ".join(cells[heads.index(column)].split()[0] for column in COLUMNS))
