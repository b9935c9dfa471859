# SPDX-License-Identifier: Apache-2.0
"""What the ResourceManager's page of nodes (/cluster/nodes, on stdin) shows of a node: its opportunistic containers that run,
their memory in GB and their vcores, and how many are queued: "0 0 0 12". For 51-nodes.

    nodes-page.py N
"""
import html
import json
import re
import sys

COLUMNS = ["Running Containers (O)", "Mem Used (O)", "VCores Used (O)", "Queued Containers"]

page = sys.stdin.read()
# The page's table is filled by a script, from rows of HTML fragments.
rows = json.loads(re.search(r"var nodeTableData=(\[.*?\])\s*</script>", page, re.S).group(1))
heads = [html.unescape(re.sub("<[^>]*>", " ", head)).strip()
         for head in re.findall(r"<th[^>]*>(.*?)</th>", page[page.index('id="nodes"'):], re.S)]
row = [r for r in rows if any("node0%s:" % sys.argv[1] in cell for cell in r)][-1]
cells = [re.sub("<[^>]*>", "", cell) for cell in row]
print(" ".join(cells[heads.index(column)].split()[0] for column in COLUMNS))
