#!/usr/bin/env bash
# Gives the first screen of a built page links to the parts of the site that lie beside it (the book, the interfaces, the
# evaluations): site/links.sh PAGE, the page's folder.
set -euo pipefail
page=$1
for part in "book Book" "api API" "evaluations Evaluations"; do
  read -r folder name <<<"$part"
  [ -e "$page/$folder/index.html" ] || continue
  grep -q "href=\"$folder/index.html\"" "$page/index.html" ||
    sed -i "s#^\( *\)</nav>#\1  <a href=\"$folder/index.html\">$name</a>\n&#" "$page/index.html"
done
