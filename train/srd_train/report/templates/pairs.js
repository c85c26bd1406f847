// Two rankers, topic by topic: sorted differences, with a cursor that mouse, touch and arrow keys move.
const TIE = 1e-6; // scores are float32 here
const pair = { order: [], differences: null, at: 0 };

const topicName = (set, i) => (set.queries[i] ? `${set.queries[i]} (${set.topics[i]})` : set.topics[i]);

const fillPairs = () => {
  const set = current();
  const names = set.rankers.map((ranker, i) => [i, ranker.name]);
  const reference = set.rankers.findIndex((ranker) => ranker.name === set.reference);
  const measure = set.measures[0];
  const rivals = set.rankers.map((ranker, i) => i).filter((i) => i !== reference && !set.rankers[i].reads);
  rivals.sort((one, other) => set.sign * (set.rankers[other].means[measure] - set.rankers[one].means[measure]));
  options(byId("first"), names, rivals.length ? rivals[0] : 0);
  options(byId("second"), names, Math.max(0, reference));
};

const drawPairs = () => {
  const set = current();
  const measure = set.measures[state.measure];
  const scores = scoresOf(set, measure);
  const [first, second] = [Number(byId("first").value), Number(byId("second").value)];
  byId("extremes").replaceChildren();
  byId("cursor").textContent = "";
  const differences = scores[first].map((score, i) => score - scores[second][i]);
  const order = Array.from(differences.keys()).sort((a, b) => differences[b] - differences[a] || a - b);
  let wins = 0, losses = 0, sum = 0;
  for (const value of differences) {
    sum += value;
    if (value > TIE) wins += 1;
    else if (value < -TIE) losses += 1;
  }
  Object.assign(pair, { order, differences, at: 0, wins, losses });
  const [one, other] = [set.rankers[first].name, set.rankers[second].name];
  byId("tally").replaceChildren(
    el("span", { class: "key r0" }), el("bdi", {}, one), ` is higher on ${plural(wins, "topic")}, `, el("span", { class: "key r1" }), el("bdi", {}, other), ` on ${losses.toLocaleString("en")}, `,
    `and ${plural(differences.length - wins - losses, "topic")} are level. Mean difference ${signed(sum / differences.length)}.`);
  drawDifferences(measure, one, other);
  drawExtremes(set, one, other);
};

const drawDifferences = (measure, one, other) => {
  const { order, differences } = pair;
  const count = order.length;
  const [low, high] = range([0, ...differences]);
  const holder = byId("differences");
  const made = chart(holder, {
    height: 260,
    label: `Differences in ${measure} between ${one} and ${other}, topics sorted; arrow keys move along them, Enter opens the topic's rankings`,
    title: `${measure}: ${one} minus ${other}`,
    xLabel: "topics, by difference",
    xOf: (from, to) => ({ ...linear(0, count, from, to), ticks: [] }),
    yOf: (from, to) => linear(low, high, from, to),
    draw: (place, x, y, width) => {
      // One path for each side, so that thousands of topics stay light.
      for (const [side, keep] of [["first", (v) => v > TIE], ["second", (v) => v < -TIE]]) {
        const parts = [];
        order.forEach((topic, i) => {
          if (!keep(differences[topic])) return;
          const gap = count < 200 ? 0.12 : 0;
          parts.push(`M${x.at(i + gap).toFixed(2)},${y.at(0).toFixed(1)}V${y.at(differences[topic]).toFixed(1)}H${x.at(i + 1 - gap).toFixed(2)}V${y.at(0).toFixed(1)}Z`);
        });
        place.append(svg("path", { class: side, d: parts.join("") }));
      }
      place.append(svg("line", { class: "zero", x1: LEFT, x2: width - RIGHT, y1: y.at(0), y2: y.at(0) }));
    },
  });
  const line = svg("line", { class: "cursor", y1: TOP, y2: 260 - BOTTOM, visibility: "hidden" });
  made.place.append(line);
  const move = (to) => {
    pair.at = Math.min(count - 1, Math.max(0, to));
    const x = made.x.at(pair.at + 0.5);
    fill(line, { x1: x, x2: x, visibility: "visible" }, []);
    const topic = order[pair.at];
    const said = `${topicName(current(), topic)}: ${signed(differences[topic])} (${pair.at + 1} of ${count}; Enter or click opens its rankings)`;
    byId("cursor").textContent = said;
    fill(made.place, { "aria-valuenow": pair.at + 1, "aria-valuetext": said }, []);
  };
  const placeOf = (event) => {
    const box = made.place.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * made.width;
    return Math.floor(((px - LEFT) / (made.width - RIGHT - LEFT)) * count);
  };
  fill(made.place, {
    tabindex: 0, role: "slider", "aria-valuemin": 1, "aria-valuemax": count, "aria-valuenow": 1,
    onpointermove: (event) => move(placeOf(event)),
    onclick: (event) => { move(placeOf(event)); openTopic(order[pair.at]); },
    onkeydown: (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -count, End: count };
      if (event.key in steps) move(pair.at + steps[event.key]);
      else if (event.key === "Enter") openTopic(order[pair.at]);
      else return;
      event.preventDefault();
    },
  }, []);
};

const drawExtremes = (set, one, other) => {
  const list = (title, topics) => el("div", {},
    el("h3", {}, title),
    topics.length === 0 ? el("p", { class: "none" }, "None.") : el("ol", { class: "extremes" }, topics.map((topic) => el("li", {},
      el("button", { type: "button", onclick: () => openTopic(topic) }, el("bdi", {}, topicName(set, topic))),
      el("span", { class: "number" }, signed(pair.differences[topic]))))));
  byId("extremes").replaceChildren(
    list(`Topics where ${one} is furthest above ${other}`, pair.order.slice(0, Math.min(6, pair.wins))),
    list(`Topics where ${other} is furthest above ${one}`, pair.order.slice(Math.max(pair.order.length - 6, pair.order.length - pair.losses)).reverse()));
};
