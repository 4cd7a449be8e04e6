// Sorting of tables, read-out of time series, saving of figures. The page works without it.
"use strict";
document.documentElement.classList.add("js");

// A click on a column's head sorts by it; another one reverses.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const sort = (head) => {
    const column = heads.indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    const key = (row) => row.cells[column].dataset.key;
    const text = (row) => row.cells[column].textContent;
    const order = (a, b) => key(a) === undefined || key(b) === undefined
      ? text(a).localeCompare(text(b), "en", { numeric: true })
      : key(a) - key(b);
    const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? order(b, a) : order(a, b)));
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows);
  };
  for (const head of heads) {
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(head); });
  }
}

// A table that is wider than its frame scrolls inside of it.
const frames = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const table = target.querySelector("table");
    if (table) target.classList.toggle("wide", table.offsetWidth > target.clientWidth);
  }
});
for (const frame of document.querySelectorAll(".scroll")) frames.observe(frame);

// What a time series shows at a time: a row per scheme, a column per quantity.
function readings(svg, time) {
  const rows = new Map(), columns = new Map();
  for (const path of svg.querySelectorAll("path[data-values]")) {
    const { name, quantity, unit, bin } = path.dataset;
    path.list ??= path.dataset.values.split(",");
    const value = path.list[Math.floor(time / bin)];
    if (!rows.has(name)) rows.set(name, { colour: getComputedStyle(path).stroke, values: new Map() });
    const row = rows.get(name);
    if (value && !row.values.has(quantity)) row.values.set(quantity, value);
    columns.set(quantity, unit);
  }
  return { rows, columns };
}

function cell(row, tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  row.append(made);
  return made;
}

function fill(box, time, { rows, columns }) {
  const table = document.createElement("table");
  const head = table.insertRow();
  cell(head, "th", time.toFixed(2) + " s");
  for (const [quantity, unit] of columns) cell(head, "th", quantity + " (" + unit + ")");
  for (const [name, { colour, values }] of rows) {
    const row = table.insertRow();
    const first = cell(row, "td", "");
    const swatch = cell(first, "i", "");
    swatch.className = "swatch";
    swatch.style.background = colour;
    first.append(name);
    for (const quantity of columns.keys()) cell(row, "td", values.get(quantity) ?? "");
  }
  box.replaceChildren(table);
}

// The read-out follows the pointer over a time series.
for (const svg of document.querySelectorAll("svg[data-duration]")) {
  const { left, right, top, bottom, duration } = svg.dataset;
  const figure = svg.closest("figure");
  const cursor = document.createElementNS(svg.namespaceURI, "line");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("y1", top);
  cursor.setAttribute("y2", bottom);
  const box = document.createElement("div");
  box.className = "readout";
  const hide = () => { cursor.remove(); box.remove(); };
  for (const title of svg.querySelectorAll("path > title")) title.remove();
  const move = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const time = ((at.x - left) / (right - left)) * duration;
    if (!(time >= 0 && time <= +duration && at.y >= +top && at.y <= +bottom)) return hide();
    cursor.setAttribute("x1", at.x);
    cursor.setAttribute("x2", at.x);
    svg.append(cursor);
    fill(box, time, readings(svg, time));
    figure.append(box);
    const frame = figure.getBoundingClientRect();
    const x = event.clientX - frame.left, y = event.clientY - frame.top;
    const turn = x + 16 + box.offsetWidth > frame.width;
    box.style.left = Math.max(0, turn ? x - 16 - box.offsetWidth : x + 16) + "px";
    box.style.top = Math.max(0, y - box.offsetHeight / 2) + "px";
  };
  svg.addEventListener("pointermove", move);
  svg.addEventListener("pointerdown", move);
  svg.addEventListener("pointerleave", hide);
}

// Every figure can be saved as a file of its own.
for (const figure of document.querySelectorAll("figure[data-file]")) {
  const button = document.createElement("button");
  button.className = "save";
  button.textContent = "Save SVG";
  button.addEventListener("click", () => {
    const text = new XMLSerializer().serializeToString(figure.querySelector("svg"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = figure.dataset.file + ".svg";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  figure.append(button);
}
