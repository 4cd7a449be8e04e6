// Wide tables and lines of code in the book can be scrolled by keyboard (WCAG 2.2, 2.1.1).
function reachByKeyboard() {
  for (const wide of document.querySelectorAll(".table-wrapper, pre, pre > code")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
    else wide.removeAttribute("tabindex");
  }
}
reachByKeyboard();
addEventListener("load", reachByKeyboard);
addEventListener("resize", reachByKeyboard);
