// Shows docs/reproduction.md: headings, paragraphs, tables, links and emphasis, as that file has them.

import { element } from "./dom";

/** Text with `code`, *emphasis* and [links](to). */
export function renderInline(text: string): Node[] {
  const nodes: Node[] = [];
  const pattern = /`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*/g;
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    nodes.push(document.createTextNode(text.slice(last, found.index)));
    last = found.index + found[0].length;
    const [, code, label, target, strong, emphasis] = found;
    if (code !== undefined) nodes.push(element("code", {}, code));
    else if (strong !== undefined) nodes.push(element("strong", {}, strong));
    else if (emphasis !== undefined) nodes.push(element("em", {}, emphasis));
    else if (target?.startsWith("#")) nodes.push(element("a", { href: `#claims/${target.slice(1)}` }, label!));
    else nodes.push(document.createTextNode(label!));
  }
  nodes.push(document.createTextNode(text.slice(last)));
  return nodes;
}

/** The cells of a row of a table. */
export function tableCells(line: string): string[] {
  return line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

const isTableRule = (line: string | undefined) => line !== undefined && /^\|[\s:|-]+\|$/.test(line.trim());

/** The elements of some Markdown. Headings inside become `level` and deeper. */
export function renderMarkdown(markdown: string, level: 3 | 4 = 4): Node[] {
  const lines = markdown.split("\n");
  const nodes: Node[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    if (line.trim() === "") continue;
    const heading = /^#+ (.*)$/.exec(line);
    if (heading) nodes.push(element(`h${level}`, {}, ...renderInline(heading[1]!)));
    else if (line.startsWith("> ")) nodes.push(element("blockquote", {}, ...renderInline(line.slice(2))));
    else if (line.startsWith("|") && isTableRule(lines[at + 1])) {
      const head = tableCells(line).map((cell) => element("th", { scope: "col" }, ...renderInline(cell)));
      const rows: HTMLElement[] = [];
      for (at += 2; at < lines.length && lines[at]!.startsWith("|"); at += 1) {
        const row = tableCells(lines[at]!).map((cell) => element("td", {}, ...renderInline(cell)));
        rows.push(element("tr", {}, ...row));
      }
      at -= 1;
      nodes.push(element("div", { class: "scroll" }, element("table", {},
        element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))));
    } else if (/^[-*] /.test(line)) {
      const items: HTMLElement[] = [];
      for (; at < lines.length && /^[-*] /.test(lines[at]!); at += 1) {
        items.push(element("li", {}, ...renderInline(lines[at]!.slice(2))));
      }
      at -= 1;
      nodes.push(element("ul", {}, ...items));
    } else nodes.push(element("p", {}, ...renderInline(line)));
  }
  return nodes;
}

/** A claim as the document has it. */
export interface Section {
  id: string;
  title: string;
  place: string;
  stated: string;
  now: string;
  body: string;
}

/** The introduction and the claims of the document. */
export function parseClaims(markdown: string): { introduction: string; sections: Section[] } {
  const lines = markdown.split("\n");
  const rows = new Map<string, string[]>();
  for (const line of lines) {
    const id = /^\| \[(\w+)\]\(#/.exec(line);
    if (id) rows.set(id[1]!, tableCells(line));
  }
  const first = lines.findIndex((line) => line.startsWith("| claim |"));
  const introduction = lines.slice(1, Math.max(first, 1)).join("\n");
  const bodies = new Map<string, string[]>();
  let current: string[] | undefined;
  for (const line of lines) {
    const heading = /^#{2,4} (\w+)/.exec(line);
    if (heading) {
      current = rows.has(heading[1]!) ? [] : undefined;
      if (current) bodies.set(heading[1]!, current);
    } else current?.push(line);
  }
  const sections = [...rows].map(([id, row]) => ({
    id, place: row[1] ?? "", title: row[2] ?? "", stated: row[3] ?? "", now: row[4] ?? "",
    body: (bodies.get(id) ?? []).join("\n"),
  }));
  return { introduction, sections };
}
