// The page put together: heading, tabs, theme, address, keys.

function startHeading() {
  document.title = DATA.title;
  byId("title").textContent = DATA.title;
  const size = DATA.nRows === null ? "" : `${counted(DATA.nRows, "row")}, `;
  const used = `${DATA.sticks.inUse} of ${DATA.sticks.weights.length} components in use`;
  byId("summary").textContent = `${DATA.model}: ${size}${counted(DATA.nColumns, "column")}, ${used}`;
}

function startTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")].filter((tab) => RHO || tab.id === "tab-components");
  if (!RHO) {
    byId("independent").textContent = DATA.independent;
    for (const id of ["independent", "tab-graph", "tab-heatmap"]) byId(id).hidden = id !== "independent";
  }
  const open = (chosen) => {
    for (const tab of document.querySelectorAll("[role=tab]")) {
      tab.setAttribute("aria-selected", tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
  };
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(at + step + tabs.length) % tabs.length];
      open(next);
      next.focus();
    });
  });
  open(tabs[0]);
}

/** The system's theme until the button asks for the other one. */
function startTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  byId("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    update({ theme: root.dataset.theme });
  });
}

/** The selected component is part of the address, so that it can be linked to. */
function startAddress() {
  const read = () => {
    const found = PLACE_OF.get(Number(/^#component-(\d+)$/.exec(location.hash)?.[1]));
    if (found !== undefined && found !== state.selected) select(found);
  };
  listen((_, change) => {
    if (!("selected" in change)) return;
    const hash = state.selected === null ? "" : `#component-${COMPONENTS[state.selected].number}`;
    history.replaceState(null, "", hash || location.pathname + location.search);
  });
  addEventListener("hashchange", read);
  read();
}

startHeading();
startPanel();
startCards();
if (RHO) {
  startGraph();
  startHeatmap();
}
startSearch();
startLookup();
startTabs();
startTheme();
startAddress();
document.addEventListener("keydown", (event) => event.key === "Escape" && clearSelection());
