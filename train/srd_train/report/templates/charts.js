// Learning curves, and quality against effort.
const sample = (name) => {
  const style = styleOf(name);
  return svg("svg", { class: style.colour, viewBox: "0 -3 28 18", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 28, y1: 6, y2: 6, stroke: "currentColor", "stroke-width": 2.5, "stroke-dasharray": style.dashes }),
    shapeAt(14, 6, style.shape));
};

const drawCurves = () => {
  const part = byId("learning");
  if (part === null) return;
  const panels = current().curves;
  const names = [...new Set(panels.flatMap((panel) => [...panel.curves.map((line) => line.ranker), ...Object.keys(panel.levels)]))];
  const choices = part.querySelector(".choices");
  choices.replaceChildren(...names.map((name) => {
    const box = el("input", { type: "checkbox", checked: !state.hidden.has(name), onchange: () => {
      if (box.checked) state.hidden.delete(name); else state.hidden.add(name);
      drawPanels(part, panels);
    } });
    return el("label", {}, box, sample(name), el("bdi", {}, name));
  }));
  drawPanels(part, panels);
};

const drawPanels = (part, panels) => {
  const holders = panels.map(() => el("div"));
  const pair = part.querySelector(".pair");
  pair.replaceChildren(...holders);
  if (!panels.length) pair.replaceChildren(el("p", { class: "none" }, "Nothing learned with validation on this topic set."));
  panels.forEach((panel, i) => drawPanel(holders[i], panel));
};

const drawPanel = (holder, panel) => {
  const lines = panel.curves.filter((line) => !state.hidden.has(line.ranker));
  const levels = Object.entries(panel.levels).filter(([name]) => !state.hidden.has(name));
  const xs = lines.flatMap((line) => [line.x[0], line.x.at(-1)]);
  const starts = lines.map((line) => line.start).filter((value) => value !== null);
  const [low, high] = range([...lines.flatMap((line) => [...line.low, ...line.high]), ...starts, ...levels.map(([, value]) => value)]);
  const label = { episodes: "environment episodes", cpu_seconds: "processor seconds of training" }[panel.against];
  chart(holder, {
    height: 320,
    label: `${panel.measure} on validation topics against ${label}: ${lines.map((line) => `${line.ranker} ends at ${line.mean.at(-1).toFixed(3)}`).join(", ")}`,
    title: `${panel.measure}, validation`,
    xLabel: label,
    xOf: (from, to) => logarithmic(xs.length ? Math.min(...xs) : 1, xs.length ? Math.max(...xs) : 10, from + 8, to - 4),
    yOf: (from, to) => linear(low, high, from, to),
    draw: (place, x, y, width) => {
      for (const line of lines) drawLine(place, line, x, y);
      for (const [name, value] of levels) {
        const style = styleOf(name);
        const level = svg("line", { class: `level ${style.colour}`, x1: LEFT, x2: width - RIGHT, y1: y.at(value), y2: y.at(value), "stroke-dasharray": style.dashes || "1 0" });
        level.append(svg("title", {}, `${name}: ${value.toFixed(4)}`));
        place.append(level, svg("text", { class: "tick halo", x: width - RIGHT, y: y.at(value) - 4, "text-anchor": "end" }, name));
      }
    },
  });
};

const drawLine = (place, line, x, y) => {
  const style = styleOf(line.ranker);
  const path = (values) => values.map((value, i) => `${x.at(line.x[i]).toFixed(1)},${y.at(value).toFixed(1)}`);
  const group = svg("g", { class: style.colour });
  if (line.seeds > 1) group.append(svg("polygon", { class: "band", points: [...path(line.high), ...path(line.low).reverse()].join(" ") }));
  group.append(svg("polyline", { class: "line", points: path(line.mean).join(" "), "stroke-dasharray": style.dashes }));
  if (line.start !== null) group.append(shapeAt(LEFT, y.at(line.start), style.shape));
  group.append(shapeAt(x.at(line.x.at(-1)), y.at(line.mean.at(-1)), style.shape));
  group.append(svg("title", {}, `${line.ranker}: ${line.mean.at(-1).toFixed(4)} at the end, ${plural(line.seeds, "seed")}`));
  place.append(group);
};

const drawEffort = () => {
  const part = byId("effort");
  const holders = [el("div"), el("div")];
  part.querySelector(".pair").replaceChildren(...holders);
  drawScatter(holders[0], "fit", "processor seconds of training, a cell");
  drawScatter(holders[1], "rank", "processor milliseconds per query");
};

// A label stands beside its point where there is room, else above or below, at the end of a thin line.
const placed = (points, width, height) => {
  const taken = points.map(({ px, py }) => [px - 9, py - 9, px + 9, py + 9]);
  const free = ([left, top, right, bottom]) => left >= LEFT && right <= width - 2 && top >= TOP - 6 && bottom <= height - BOTTOM
    && taken.every((other) => right < other[0] || left > other[2] || bottom < other[1] || top > other[3]);
  return points.map(({ px, py, text }) => {
    const long = text.length * 7.2;
    const tries = [0, -16, 16, -32, 32, -48, 48, -64, 64, -80, 80].flatMap((dy) => [[12, dy], [-12 - long, dy]]);
    const box = ([dx, dy]) => [px + dx, py + dy - 8, px + dx + long, py + dy + 8];
    const [dx, dy] = tries.find((each) => free(box(each))) || tries[px > width / 2 ? 1 : 0];
    taken.push(box([dx, dy]));
    const right = dx > 0;
    return { text, x: right ? px + dx : px - 12, anchor: right ? "start" : "end", y: py + dy + 4, far: dy !== 0, from: [px, py], to: [px + (right ? 10 : -10), py + dy] };
  });
};

const drawScatter = (holder, effort, xLabel) => {
  const set = current();
  const measure = set.measures[state.measure];
  const least = 0.001;
  const competing = set.rankers.filter((ranker) => !ranker.reads);
  const points = (competing.length ? competing : set.rankers).map((ranker) => ({ ranker, x: Math.max(least, ranker[effort]), y: ranker.means[measure], interval: ranker.intervals[measure] }));
  const [low, high] = range(points.flatMap((point) => point.interval), 0.08);
  const xs = points.map((point) => point.x);
  chart(holder, {
    height: 340,
    label: `${measure} against ${xLabel}: ${points.map((p) => `${p.ranker.name} ${p.y.toFixed(3)} at ${short(p.x)}`).join(", ")}`,
    title: measure,
    xLabel: `${xLabel}${xs.some((x) => x === least) ? " (0.001: or less)" : ""}`,
    xOf: (from, to) => logarithmic(Math.min(...xs) / 1.5, Math.max(...xs) * 1.5, from, to),
    yOf: (from, to) => linear(low, high, from, to),
    draw: (place, x, y, width) => {
      const labels = [];
      for (const point of points) {
        const style = styleOf(point.ranker.name);
        const [px, py] = [x.at(point.x), y.at(point.y)];
        place.append(svg("g", { class: style.colour },
          svg("line", { class: "line", x1: px, x2: px, y1: y.at(point.interval[0]), y2: y.at(point.interval[1]) }),
          shapeAt(px, py, style.shape),
          svg("title", {}, `${point.ranker.name}: ${point.y.toFixed(4)}, ${short(point.x)}`)));
        labels.push({ text: point.ranker.name, px, py });
      }
      for (const label of placed(labels, width, 340)) {
        if (label.far) place.append(svg("line", { class: "leader", x1: label.from[0], y1: label.from[1], x2: label.to[0], y2: label.to[1] }));
        place.append(svg("text", { class: "halo", x: label.x, y: label.y, "text-anchor": label.anchor }, label.text));
      }
    },
  });
};
