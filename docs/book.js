// The book: options in tables are not broken at their hyphens; wide tables and lines of code can be scrolled by keyboard
// (WCAG 2.2, 2.1.1).
function reachByKeyboard() {
  for (const wide of document.querySelectorAll(".table-wrapper, pre, pre > code")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
    else wide.removeAttribute("tabindex");
  }
}
for (const code of document.querySelectorAll("td code")) code.classList.toggle("short", code.textContent.length <= 24);
reachByKeyboard();
addEventListener("load", reachByKeyboard);
addEventListener("resize", reachByKeyboard);
