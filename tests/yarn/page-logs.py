# SPDX-License-Identifier: Apache-2.0
"""Follows a link to the logs of a container, as a browser does, and prints the text in the page's <pre> elements.

page-logs.py URL [FILE]: if the page is a list of files, follows its link to FILE. Prints the addresses on the way on stderr."""
import html.parser
import sys
import urllib.parse
import urllib.request


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.texts, self.links, self.is_open = [], [], False

    def handle_starttag(self, tag, attrs):
        if tag == "pre":
            self.is_open = True
            self.texts.append("")
        elif tag == "a":
            self.links.append(dict(attrs).get("href", ""))

    def handle_endtag(self, tag):
        if tag == "pre":
            self.is_open = False

    def handle_data(self, data):
        if self.is_open:
            self.texts[-1] += data


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        print(answer.geturl(), file=sys.stderr)
        page = Page()
        page.feed(answer.read().decode("utf-8", "replace"))
        page.close()
        return answer.geturl(), page


def names(link):
    return [urllib.parse.unquote(part) for part in urllib.parse.urlsplit(link).path.split("/")]


url, page = get(sys.argv[1])
if not page.texts and len(sys.argv) > 2:
    found = [link for link in page.links if sys.argv[2] in names(link)]
    if not found:
        sys.exit(f"{url} has no link to {sys.argv[2]}, but {page.links}")
    url, page = get(urllib.parse.urljoin(url, found[0]))
print("".join(page.texts))
