// The page: its tabs, whose state is in the address.

import "./style.css";
import type { Catalog } from "./catalog";
import { Claims } from "./claims";
import { Client } from "./client";
import { Compare } from "./compare";
import { Documents } from "./documents";
import { byId, showError } from "./dom";
import { readSession } from "./recording";
import { scripts } from "./scripts";
import { currentTab, TABS } from "./tabs";
import { Ratatouille } from "./ratatouille";
import { Write } from "./write";
import { ScenarioRun } from "./scenario";
import { Story } from "./story";

/** Returns true if an address of the live view differs from its present setting. */
function isOther(live: Ratatouille, rest: string): boolean {
  try {
    // A session has its start in the address, which the run has left since.
    if (readSession(rest)) return true;
  } catch {
    return true;
  }
  return rest !== live.address();
}

async function start(): Promise<void> {
  byId("no-script").remove();
  byId("pace").textContent = "The simulator is being loaded …";
  const client = new Client();
  const catalog = await client.ask<Catalog>({ method: "catalog" });
  byId("version").textContent = `Paceline ${catalog.version}`;
  scripts.reserved = new Set(catalog.schemes.map(({ name }) => name));
  await scripts.readAddress(currentTab().rest).catch((error: unknown) => showError(byId("start-error"), error));
  const live = new Ratatouille(catalog, currentTab().tab === "ratatouille" ? currentTab().rest : "");
  const story = new Story(live);
  const compare = new Compare(catalog, client);
  const write = new Write(catalog);
  const scenario = new ScenarioRun();
  live.onfile = (name, text) => scenario.offer(name, text);
  const claims = new Claims();
  const documents = new Documents();
  let ready = false;
  const show = () => {
    const { tab, rest } = currentTab();
    // The user has changed the setting in the address: reload, so that the page begins with it.
    if (ready && tab === "ratatouille" && rest !== "" && isOther(live, rest)) return location.reload();
    for (const name of TABS) {
      // The story stands beside the live view.
      if (name !== "story") byId(name).hidden = name !== (tab === "story" ? "ratatouille" : tab);
      const link = byId(`tab-${name}`);
      if (name === tab) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${byId(`tab-${tab}`).textContent} – Paceline`;
    story.show(tab === "story", rest);
    live.activate(tab === "ratatouille" || tab === "story");
    if (tab === "compare") compare.activate(rest);
    if (tab === "write") write.activate(rest);
    if (tab === "claims") void claims.activate(rest);
    if (tab === "documents") void documents.activate(rest);
  };
  show();
  ready = true;
  window.addEventListener("hashchange", () => {
    const words = currentTab().rest;
    if (!words.includes("controller=")) return show();
    void scripts.readAddress(words).catch((error: unknown) => showError(byId("start-error"), error)).then(show);
  });
  // Store a pending change before the tab is left, so that it is there when the browser goes back.
  for (const name of TABS) byId(`tab-${name}`).addEventListener("click", () => live.remember());
  // For tests and measurements.
  Object.assign(window, {
    paceline: { frames: () => [...live.frames], times: () => live.times(), rows: () => live.shownRows(), time: () => live.now() },
  });
  document.documentElement.dataset["ready"] = "yes";
}

start().catch((error: unknown) => showError(byId("start-error"), error));
