// Renders the Markdown of the documents: headings, paragraphs, lists, quotations, tables, code,
// figures, links, emphasis.

import { element } from "./dom";

/** Returns the target of a link or the source of a figure in this page; null if there is none. */
export type Resolve = (target: string) => string | null;

const claimLinks: Resolve = (target) => (target.startsWith("#") ? `#claims/${target.slice(1)}` : null);

/** Renders text with `code`, *emphasis*, [links](to) and ![figures](from). */
export function renderInline(text: string, resolve: Resolve = claimLinks): Node[] {
  const nodes: Node[] = [];
  const pattern = /`([^`]+)`|(!?)\[((?:[^[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*/g;
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    nodes.push(document.createTextNode(text.slice(last, found.index)));
    last = found.index + found[0].length;
    const [, code, figure, label, target, strong, emphasis] = found;
    if (code !== undefined) nodes.push(element("code", {}, code));
    else if (strong !== undefined) nodes.push(element("strong", {}, ...renderInline(strong, resolve)));
    else if (emphasis !== undefined) nodes.push(element("em", {}, ...renderInline(emphasis, resolve)));
    else {
      const address = resolve(target!);
      if (address === null) nodes.push(...renderInline(label!, resolve));
      else if (figure) nodes.push(element("img", { src: address, alt: label! }));
      else nodes.push(element("a", { href: address }, ...renderInline(label!, resolve)));
    }
  }
  nodes.push(document.createTextNode(text.slice(last)));
  return nodes;
}

/** Returns the cells of a table's row. */
export function tableCells(line: string): string[] {
  return line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

const isTableRule = (line: string | undefined) => line !== undefined && /^\|[\s:|-]+\|$/.test(line.trim());

const LIST_ITEM = /^( *)(?:[-*]|(\d+)\.) (.*)$/;

const COMMENT = /^<!-- .* -->$/;

/** True if a line ends the paragraph before it. */
const endsParagraph = (line: string) =>
  line.trim() === "" || COMMENT.test(line) || /^(#+ |> |\||```)/.test(line) || LIST_ITEM.test(line);

/** Returns the anchor of a heading, as links to it have it. */
export function anchor(heading: string): string {
  return heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}

/** Returns the elements of a Markdown text. Its headings get `level` and deeper levels. */
export function renderMarkdown(markdown: string, level: 2 | 3 | 4 = 4, resolve: Resolve = claimLinks): Node[] {
  const lines = markdown.split("\n");
  const nodes: Node[] = [];
  const inline = (text: string) => renderInline(text, resolve);
  let at = 0;
  /** Returns the text of a paragraph that begins with `first` and continues in the next lines. */
  const paragraph = (first: string): string => {
    let text = first;
    for (; at < lines.length && !endsParagraph(lines[at]!); at += 1) text += ` ${lines[at]!.trim()}`;
    return text;
  };
  while (at < lines.length) {
    const line = lines[at]!;
    at += 1;
    if (line.trim() === "" || COMMENT.test(line)) continue;
    const heading = /^(#+) (.*)$/.exec(line);
    const fence = /^( *)```/.exec(line);
    if (heading) {
      const depth = Math.min(6, Math.max(level, heading[1]!.length)) as 2 | 3 | 4 | 5 | 6;
      nodes.push(element(`h${depth}`, { "data-anchor": anchor(heading[2]!) }, ...inline(heading[2]!)));
    } else if (fence) {
      const code: string[] = [];
      for (; at < lines.length && !lines[at]!.trim().startsWith("```"); at += 1) code.push(lines[at]!.slice(fence[1]!.length));
      at += 1;
      nodes.push(element("pre", { class: "scroll", tabindex: "0" }, element("code", {}, code.join("\n"))));
    } else if (line.startsWith("> ")) {
      let text = line.slice(2);
      for (; lines[at]?.startsWith("> "); at += 1) text += ` ${lines[at]!.slice(2)}`;
      nodes.push(element("blockquote", {}, ...inline(text)));
    } else if (line.startsWith("|") && isTableRule(lines[at])) {
      const head = tableCells(line).map((cell) => element("th", { scope: "col" }, ...inline(cell)));
      const rows: HTMLElement[] = [];
      for (at += 1; lines[at]?.startsWith("|"); at += 1) {
        rows.push(element("tr", {}, ...tableCells(lines[at]!).map((cell) => element("td", {}, ...inline(cell)))));
      }
      nodes.push(element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, element("table", {},
        element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))));
    } else if (LIST_ITEM.test(line)) {
      const first = LIST_ITEM.exec(line)!;
      const list = element(first[2] === undefined ? "ul" : "ol");
      for (let item: RegExpExecArray | null = first; item; item = LIST_ITEM.exec(lines[at] ?? "")) {
        if (item !== first) at += 1;
        const entry = element("li", {}, ...inline(paragraph(item[3]!)));
        // An indented item belongs to the item before it.
        const last = list.lastElementChild;
        if (item[1]!.length > first[1]!.length && last) {
          let inner = last.querySelector(":scope > ul");
          if (!inner) last.append(inner = element("ul"));
          inner.append(entry);
        } else list.append(entry);
      }
      nodes.push(list);
    } else nodes.push(element("p", {}, ...inline(paragraph(line))));
  }
  return nodes;
}

/** A claim in the document. */
export interface Section {
  id: string;
  title: string;
  place: string;
  stated: string;
  now: string;
  /** Number of runs, and of its fragile checks. */
  runs: string;
  body: string;
}

/** Returns the summary, the introduction and the claims of the document. */
export function parseClaims(markdown: string): { summary: string; introduction: string; sections: Section[] } {
  const lines = markdown.split("\n");
  const rows = new Map<string, string[]>();
  const about = lines.indexOf("## How claims are judged");
  const first = lines.findIndex((line, at) => at > about && line.startsWith("| claim |"));
  for (const line of lines.slice(Math.max(first, 0))) {
    const id = /^\| \[(\w+)\]\(#/.exec(line);
    if (id) rows.set(id[1]!, tableCells(line));
  }
  const summary = lines.slice(1, Math.max(about, 1)).join("\n");
  const introduction = lines.slice(about + 1, Math.max(first, about + 1)).join("\n");
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
    runs: row[6] ?? "",
    body: (bodies.get(id) ?? []).join("\n"),
  }));
  return { summary, introduction, sections };
}
