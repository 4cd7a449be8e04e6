// Keyboard shortcuts of the live run, and its full screen.

import { announce, byId } from "./dom";

export interface KeyActions {
  active(): boolean;
  pause(): void;
  step(seconds: number): void;
  restart(): void;
}

/** Seconds of simulated time for a step. */
const STEP = 0.01;
const LONG_STEP = 0.1;

/** Returns true if the focused element uses keys itself. */
function usesKeys(target: EventTarget | null): boolean {
  return target instanceof HTMLElement
    && (target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName));
}

/** Listens for the keys: space, arrow to the right, r, f. */
export function listenForKeys(actions: KeyActions): void {
  const full = byId("fullscreen");
  const toggle = () => {
    if (document.fullscreenElement) void document.exitFullscreen();
    else void byId("play").requestFullscreen().catch(() => announce("This browser allows no full screen here."));
  };
  full.hidden = !document.fullscreenEnabled;
  full.addEventListener("click", toggle);
  document.addEventListener("fullscreenchange", () => {
    full.textContent = document.fullscreenElement ? "Leave full screen" : "Full screen";
  });
  document.addEventListener("keydown", (event) => {
    if (!actions.active() || event.ctrlKey || event.altKey || event.metaKey || usesKeys(event.target)) return;
    // A focused button or link has the space bar for itself.
    const pressed = event.target instanceof HTMLElement && event.target.closest("button, a, summary, [tabindex='0']");
    if (event.key === " " && !pressed) actions.pause();
    else if (event.key === "ArrowRight" && !(pressed && pressed.matches("[tabindex='0']"))) {
      actions.step(event.shiftKey ? LONG_STEP : STEP);
    } else if (event.key === "r") actions.restart();
    else if (event.key === "f") toggle();
    else return;
    event.preventDefault();
  });
}
