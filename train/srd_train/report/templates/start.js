// What is out of sight is made when it comes near: a page of 200,000 scores opens at once.
const parts = [
  { id: "learning", fill: () => {}, draw: drawCurves },
  { id: "effort", fill: () => {}, draw: drawEffort },
  { id: "pairs", fill: fillPairs, draw: drawPairs },
  { id: "explorer", fill: fillExplorer, draw: () => {} },
].filter((part) => byId(part.id) !== null);

const ready = (part) => {
  if (part.set !== state.set) {
    part.set = state.set;
    part.fill();
    part.stale = true;
  }
  if (part.stale) part.draw();
  part.stale = false;
};

const chooseSet = (number) => {
  state.set = number;
  state.measure = 0;
  const set = current();
  for (const line of document.querySelectorAll("section > .of")) line.replaceChildren(el("bdi", {}, set.title));
  for (const select of document.querySelectorAll("select.measure")) options(select, set.measures.map((name, i) => [i, name]), 0);
  for (const part of parts) if (part.near) ready(part);
};

const chooseMeasure = (number) => {
  state.measure = number;
  for (const select of document.querySelectorAll("select.measure")) select.value = String(number);
  for (const part of parts) if (part.id === "effort" || part.id === "pairs") {
    part.stale = true;
    if (part.near) ready(part);
  }
};

const start = () => {
  for (const node of document.querySelectorAll("[data-needs-script]")) node.hidden = false;
  startTables();
  startExplorer();
  const sets = byId("set");
  if (sets !== null) {
    options(sets, data.sets.map((set, i) => [i, set.name]), 0);
    sets.addEventListener("change", () => chooseSet(Number(sets.value)));
  }
  for (const select of document.querySelectorAll("select.measure")) select.addEventListener("change", () => chooseMeasure(Number(select.value)));
  for (const id of ["first", "second"]) byId(id).addEventListener("change", drawPairs);
  byId("swap").addEventListener("click", () => {
    const [first, second] = [byId("first"), byId("second")];
    [first.value, second.value] = [second.value, first.value];
    drawPairs();
  });
  chooseSet(0);
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      const part = parts.find((each) => each.id === entry.target.id);
      part.near = true;
      ready(part);
    }
  }, { rootMargin: "400px" });
  for (const part of parts) watcher.observe(byId(part.id));
  window.addEventListener("beforeprint", () => { // paper shows all of it at once
    parts.forEach(ready);
    for (const closed of document.querySelectorAll("details")) closed.open = true;
  });
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return; // a phone's address bar comes and goes
    width = window.innerWidth;
    for (const part of parts) {
      part.stale = true;
      if (part.near) ready(part);
    }
  });
};
start();
