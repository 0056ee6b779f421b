// Networks that are computed in the page (tools/book/desks.py): a mixing desk for nine networks, and the directions and λ
// of CART. Every step computes the accuracy of one merged network on all images.
(() => {
  const hosts = [...document.querySelectorAll("[data-desk]")];
  if (!hosts.length) return;
  const { four, say, widened } = weightspace;
  const rest = () => new Promise((done) => { setTimeout(done); });
  const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

  // -- numbers that stand in the desk as text --------------------------------------------------------------------------

  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  // Reads one tensor after the other.
  function reading(text) {
    const numbers = widened(new Uint16Array(bytesOf(text).buffer));
    let place = 0;
    return (count) => numbers.subarray(place, place += count);
  }

  // A matrix (rows, columns) written as (columns, rows) into a part of the memory, whose rows are a multiple of 4 long.
  function transposed(matrix, rows, columns, part) {
    const long = four(rows);
    for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) part.values[column * long + row] = matrix[row * columns + column];
    return part;
  }

  const filled = (part, numbers) => { part.values.set(numbers); return part; };

  // Digits turned counter-clockwise, bilinear, black outside, as data/rotated_mnist.py turns them.
  function turned(pixels, side, angle) {
    const [cos, sin, middle, grid] = [Math.cos(angle * Math.PI / 180), Math.sin(angle * Math.PI / 180), (side - 1) / 2, 2 ** 20];
    const images = pixels.length / side ** 2;
    const result = new Float32Array(pixels.length);
    for (let row = 0; row < side; row++) {
      for (let column = 0; column < side; column++) {
        const [below, right] = [row - middle, column - middle];
        const y = Math.round(grid * (right * sin + below * cos + middle)) / grid;
        const x = Math.round(grid * (right * cos - below * sin + middle)) / grid;
        const [top, left] = [Math.floor(y), Math.floor(x)];
        for (const [i, across] of [[top, 1 - y + top], [top + 1, y - top]]) {
          for (const [j, along] of [[left, 1 - x + left], [left + 1, x - left]]) {
            if (i < 0 || i >= side || j < 0 || j >= side) continue;
            for (let image = 0; image < images; image++) result[(image * side + row) * side + column] += across * along * pixels[(image * side + i) * side + j];
          }
        }
      }
    }
    return result;
  }

  // Which answers are right, a list for each task, from logits whose rows are `long` numbers. Each task has the same digits.
  function answered({ values }, long, classes, labels, tasks) {
    return Array.from({ length: tasks }, (_, task) => labels.map((label, image) => {
      const row = values.subarray((task * labels.length + image) * long, (task * labels.length + image) * long + classes);
      let best = 0;
      row.forEach((logit, answer) => { if (logit > row[best]) best = answer; });
      return Number(best === label);
    }));
  }

  const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;

  // Two standard errors of the mean over some tasks, in points. The tasks show the same digits, so the error is that of
  // digits: each counts with the share of the tasks on which it is right.
  function within(right) {
    const digits = right[0].map((_, image) => mean(right.map((task) => task[image])));
    const middle = mean(digits);
    const spread = digits.reduce((total, share) => total + (share - middle) ** 2, 0) / (digits.length - 1);
    return Math.max(1, Math.round(200 * Math.sqrt(spread / digits.length)));
  }

  // -- the networks ----------------------------------------------------------------------------------------------------

  // θ₀ + Σ λ τ of MLPs of one shape. The first layer of a mix is the mix of the first layers' answers, which are computed
  // once.
  class Mixing {
    static async of(desk, isPlain, told) {
      const { widths, angles, labels, side } = desk;
      const models = desk.networks.length;
      const rows = angles.length * labels.length;
      const layers = widths.slice(1).map((width, layer) => ({ inner: widths[layer], columns: four(width), width }));
      const weights = layers.reduce((total, { inner, columns }) => total + (inner + 1) * columns, 0);
      const features = rows * Math.max(...layers.map(({ columns }) => columns));
      const kernel = await weightspace.kernel((models + 1) * weights + (models + 3) * features + models * rows * layers.at(-1).columns + labels.length * widths[0], isPlain);
      const mixing = Object.assign(new Mixing(), { desk, kernel, layers, rows, models });
      const { room } = kernel;
      mixing.states = desk.networks.map((text) => {
        const read = reading(text);
        return layers.map(({ inner, columns, width }) => ({
          weight: transposed(read(inner * width), width, inner, room.take(inner * columns)), bias: filled(room.take(columns), read(width)),
        }));
      });
      mixing.mixed = layers.map(({ inner, columns }, layer) => layer && { weight: room.take(inner * columns), bias: room.take(columns) });
      mixing.before = mixing.states.map(() => room.take(rows * layers[0].columns));
      mixing.room = [room.take(features), room.take(features)];
      const images = room.take(labels.length * widths[0]);
      const pixels = Float32Array.from(bytesOf(desk.pixels), (byte) => byte / 255);
      for (const [task, angle] of angles.entries()) {
        images.values.set(turned(pixels, side, angle));
        mixing.states.forEach(([{ weight, bias }], model) => {
          const { columns } = layers[0];
          const at = { at: mixing.before[model].at + 4 * task * labels.length * columns, values: mixing.before[model].values.subarray(task * labels.length * columns) };
          kernel.layer(images, widths[0], weight, bias, at, labels.length, widths[0], columns);
        });
        told((task + 1) / angles.length);
        await rest();
      }
      mixing.outputs = mixing.states.map((_, model) => {
        const logits = mixing.logits(mixing.states.map((__, other) => Number(other === model)));
        return Float32Array.from(logits.values);
      });
      return mixing;
    }

    // Logits of Σ share · θ, whose shares sum to 1, in rows of four(classes).
    logits(of) {
      const { kernel, layers, rows } = this;
      const mix = (out, parts) => {
        out.values.fill(0);
        parts.forEach((part, model) => { if (of[model]) kernel.add(out, part, of[model]); });
        return out;
      };
      const sized = (part, columns) => ({ at: part.at, values: part.values.subarray(0, rows * columns), count: rows * columns });
      let [h, next] = this.room;
      h = mix(sized(h, layers[0].columns), this.before);
      layers.forEach(({ inner, columns }, layer) => {
        if (!layer) return;
        kernel.rectify(h);
        const weight = mix(this.mixed[layer].weight, this.states.map((state) => state[layer].weight));
        const bias = mix(this.mixed[layer].bias, this.states.map((state) => state[layer].bias));
        const out = sized(next, columns);
        kernel.layer(h, layers[layer - 1].columns, weight, bias, out, rows, inner, columns);
        [h, next] = [out, this.room.find((part) => part.at !== out.at)];
      });
      return h;
    }

    // {weights, outputs, own, right}: the accuracy on each task of the mixed weights, of the mixed outputs, and of the task's
    // own network; which answers of the mixed weights are right. lams: of every network but the first.
    accuracies(lams) {
      const of = [1 - lams.reduce((total, lam) => total + lam, 0), ...lams];
      const { width, columns } = this.layers.at(-1);
      const count = (values) => answered({ values }, columns, width, this.desk.labels, this.desk.angles.length);
      const right = count(this.logits(of).values);
      const outputs = new Float32Array(this.outputs[0].length);
      this.outputs.forEach((logits, model) => { if (of[model]) for (let place = 0; place < outputs.length; place++) outputs[place] += of[model] * logits[place]; });
      this.own ??= this.outputs.map((logits, task) => mean(count(logits)[task]));
      return { weights: right.map(mean), outputs: count(outputs).map(mean), own: this.own, right };
    }
  }

  // origin + λ · Σ SVD_k(τ) of MLPs with one hidden layer.
  class Directions {
    static async of(desk, isPlain, told) {
      const { labels, orders, most, widths: [pixels, hidden, classes] } = desk;
      const tasks = orders.length;
      const rows = tasks * labels.length;
      const [units, columns, parts] = [four(hidden), four(classes), four(tasks * most)];
      const ways = Object.keys(desk.ways).length;
      const each = (pixels + 2) * units + 2 * (units + 1) * columns + parts * (units + pixels) + rows * (units + parts);
      const kernel = await weightspace.kernel(ways * each + rows * (pixels + 2 * units + columns) + 2 * (units + 1) * columns + parts, isPlain);
      const { room } = kernel;
      const made = Object.assign(new Directions(), { desk, kernel, rows, units, columns, parts, tasks, hidden });
      const images = room.take(rows * pixels);
      const digits = Float32Array.from(bytesOf(desk.pixels), (byte) => byte / 255);
      orders.forEach((order, task) => labels.forEach((_, image) => order.forEach((from, to) => {
        images.values[((task * labels.length) + image) * pixels + to] = digits[image * pixels + from];
      })));
      const none = room.take(parts);
      made.ways = {};
      for (const [place, [name, way]] of Object.entries(desk.ways).entries()) {
        const [origin, more, left, right] = [way.origin, way.rest, way.left, way.right].map(reading);
        const weight = transposed(origin(hidden * pixels), hidden, pixels, room.take(pixels * units));
        const bias = filled(room.take(units), origin(hidden));
        const one = made.ways[name] = {
          weight: transposed(origin(classes * hidden), classes, hidden, room.take(hidden * columns)), bias: filled(room.take(columns), origin(classes)),
          moreBefore: filled(room.take(units), more(hidden)),
          moreWeight: transposed(more(classes * hidden), classes, hidden, room.take(hidden * columns)), moreBias: filled(room.take(columns), more(classes)),
          left: transposed(left(hidden * tasks * most), hidden, tasks * most, room.take(parts * units)),
          start: room.take(rows * units), inRight: room.take(rows * parts),
        };
        kernel.layer(images, pixels, weight, bias, one.start, rows, pixels, units);
        const rightward = transposed(right(tasks * most * pixels), tasks * most, pixels, room.take(pixels * parts));
        kernel.layer(images, pixels, rightward, none, one.inRight, rows, pixels, parts);
        told((place + 1) / ways);
        await rest();
      }
      Object.assign(made, { step: room.take(rows * units), h: room.take(rows * units), out: room.take(rows * columns), last: null });
      made.mixed = { weight: room.take(hidden * columns), bias: room.take(columns) };
      return made;
    }

    // Logits, in rows of four(classes), with so many directions kept of every task vector's first layer.
    logits(name, count, lam) {
      const { kernel, rows, units, columns, tasks, parts, hidden } = this;
      const way = this.ways[name];
      if (this.last !== `${name} ${count}`) kernel.layer(way.inRight, parts, way.left, way.moreBefore, this.step, rows, tasks * count, units);
      this.last = `${name} ${count}`;
      this.h.values.set(way.start.values);
      this.mixed.weight.values.set(way.weight.values);
      this.mixed.bias.values.set(way.bias.values);
      if (count) {
        kernel.add(this.h, this.step, lam);
        kernel.add(this.mixed.weight, way.moreWeight, lam);
        kernel.add(this.mixed.bias, way.moreBias, lam);
      }
      kernel.rectify(this.h);
      kernel.layer(this.h, units, this.mixed.weight, this.mixed.bias, this.out, rows, hidden, columns);
      return this.out;
    }

    // Which answers are right, a list for each task.
    right(name, count, lam) {
      return answered(this.logits(name, count, lam), this.columns, this.desk.widths[2], this.desk.labels, this.tasks);
    }

    accuracies(name, count, lam) { return this.right(name, count, lam).map(mean); }
  }

  // -- what the reader sees --------------------------------------------------------------------------------------------

  function made(tag, text = "", attributes = {}, ...inside) {
    const element = Object.assign(document.createElement(tag), attributes);
    element.append(...(text ? [text] : []), ...inside);
    return element;
  }

  // A slider with its name and what it says; `moved` is called with its value.
  function slider(label, least, most, step, value, said, moved) {
    const says = made("output", said(value));
    const input = made("input", "", { type: "range", min: least, max: most, step, value });
    const tell = () => { says.textContent = said(Number(input.value)); input.ariaValueText = says.textContent; };
    input.addEventListener("input", () => { tell(); moved(Number(input.value)); });
    tell();
    const set = (to) => { input.value = to; tell(); };
    const unset = () => { says.textContent = "–"; };
    return { part: made("label", "", { className: "ws-slide" }, made("span", label), input, says), set, unset };
  }

  // A bar from 0 to 1 with marks; `show` moves it.
  function measure(name) {
    const bar = made("span", "", { className: "ws-got" });
    const marks = { outputs: made("span", "", { className: "ws-mark ws-outputs" }), own: made("span", "", { className: "ws-mark ws-own" }) };
    const says = made("span", "", { className: "ws-value" });
    const part = made("div", "", { className: "ws-measure" }, made("span", name, { className: "ws-name" }), made("span", "", { className: "ws-rail" }, bar, marks.own, marks.outputs), says);
    const show = ({ got, outputs, own }) => {
      bar.style.width = `${100 * got}%`;
      for (const [which, share] of Object.entries({ outputs, own })) {
        marks[which].hidden = share === undefined;
        marks[which].style.left = `${100 * share}%`;
      }
      says.textContent = percent(got);
    };
    return { part, show };
  }

  const key = (...signs) => made("p", "", { className: "ws-key" }, ...signs.map(([sign, text]) => made("span", "", {}, made("i", "", { className: sign, ariaHidden: "true" }), text)));
  const buttons = (label, choices, chosen) => made("p", "", { className: "ws-choices" }, made("span", label), ...choices.map((choice) => {
    const button = made("button", choice, { type: "button" });
    button.addEventListener("click", () => chosen(choice));
    return button;
  }));

  // Calls `work` before the next picture, however often it is asked.
  function once(work) {
    let waits = false;
    return () => {
      if (waits) return;
      waits = true;
      requestAnimationFrame(() => { waits = false; work(); });
    };
  }

  // What the desk found, for the eye at once, for a screen reader when the sliders rest.
  function finding() {
    const [says, noise] = [made("p", "", { className: "ws-says" }), made("p", "", { className: "ws-noise" })];
    const aloud = made("p", "", { className: "ws-aloud" });
    aloud.setAttribute("role", "status");
    let waits;
    const tell = (text, more) => {
      [says.textContent, noise.textContent] = [text, more];
      clearTimeout(waits);
      waits = setTimeout(() => { aloud.textContent = `${text}. ${more}`; }, 500);
    };
    return { parts: [says, noise, aloud], tell };
  }

  function showMixing(host, mixing) {
    const { angles, labels, source } = mixing.desk;
    const tuned = angles.slice(1);
    const lams = tuned.map(() => 0);
    const found = finding();
    const measures = angles.map((angle, place) => measure(`${angle}°`));
    const draw = once(() => {
      const { weights, outputs, own, right } = mixing.accuracies(lams);
      measures.forEach(({ show }, place) => show({ got: weights[place], outputs: outputs[place], own: own[place] }));
      const added = lams.flatMap((lam, place) => (lam > 0 ? [place + 1] : []));
      const [one, all] = [weights, outputs].map((of) => mean(added.map((place) => of[place])));
      const taken = lams.flatMap((lam, place) => (lam < 0 ? [place + 1] : []));
      const named = (places) => places.map((place) => `${angles[place]}°`).join(", ");
      const says = added.length ? say("Of the digits that you add ({0}), one network gets {1} right, and the same sum of outputs {2}", named(added), percent(one), percent(all))
        : taken.length ? say("Of the digits that you subtract ({0}), {1} are right, and of upright ones {2}", named(taken), percent(mean(taken.map((place) => weights[place]))), percent(weights[0]))
          : say("This is the pretrained network, which is {0} accurate on upright digits", percent(weights[0]));
      found.tell(says, say("Two standard errors of the first percentage are {0} points.", within((added.length ? added : taken.length ? taken : [0]).map((place) => right[place]))));
    });
    const written = (lam) => lam.toFixed(2).replace("-", "−");
    const sliders = tuned.map((angle, place) => slider(say("λ for {0}°", angle), -1, 1, 0.05, 0, written, (lam) => { lams[place] = lam; together.unset(); draw(); }));
    const set = (values) => { values.forEach((lam, place) => { lams[place] = lam; sliders[place].set(lam); }); draw(); };
    const together = slider(say("one λ for all"), -1, 1, 0.05, 0, written, (lam) => set(tuned.map(() => lam)));
    const [first, third] = [tuned[0], tuned[Math.min(2, tuned.length - 1)]];
    const choices = {
      [say("none")]: () => 0, [say("{0}° alone, λ = 1", first)]: (angle) => Number(angle === first),
      [say("{0}° subtracted, λ = −0.5", third)]: (angle) => (angle === third ? -0.5 : 0),
    };
    host.replaceChildren(...found.parts,
      key(["ws-got", say("one network, mixed in the weights")], ["ws-outputs", say("all networks run, mixed in the outputs")], ["ws-own", say("the task’s own network")]),
      buttons(say("Set the sliders to"), Object.keys(choices), (name) => { together.unset(); set(tuned.map(choices[name])); }),
      made("div", "", { className: "ws-rows" }, made("div", "", { className: "ws-row" }, together.part), made("div", "", { className: "ws-row ws-head" }, made("span", say("λ of each task vector")), made("span", say("accuracy on each task"))), ...angles.map((_, place) => made("div", "", { className: "ws-row" }, place ? sliders[place - 1].part : made("span", say("pretraining, upright"), { className: "ws-slide" }), measures[place].part))),
      made("p", say("{0}, {1} test images a task. Weights are rounded to float16. The standard error of one accuracy is at most {2} points.", source, labels.length, (50 / Math.sqrt(labels.length)).toFixed(1)), { className: "ws-caption" }));
    draw();
    return (values) => set(values);
  }

  function showDirections(host, directions) {
    const { desk: { tasks, most, own, labels, source } } = directions;
    const [ways, lams] = [Object.keys(directions.ways), Array.from({ length: 31 }, (_, place) => place / 5)];
    const at = { way: ways[0], count: 0, lam: 1 };
    const found = finding();
    const measures = [...tasks, say("mean over the tasks")].map(measure);
    const map = mapOf(most, lams, (count, lam) => set({ count, lam }));
    const known = Object.fromEntries(ways.map((way) => [way, new Map()]));
    const draw = once(() => {
      const right = directions.right(at.way, at.count, at.lam);
      const of = right.map(mean);
      of.forEach((got, task) => measures[task].show({ got, own: own[task] }));
      measures.at(-1).show({ got: mean(of), own: mean(own) });
      const share = percent(mean(of));
      const says = at.count
        ? say("With {0} of each task vector’s directions and λ = {1}, the merged network is {2} accurate", at.count, at.lam.toFixed(1), share)
        : at.way === ways[0] ? say("No direction is kept, so this is the average, which is {0} accurate", share) : say("No direction is kept, so this is θ₀, which is {0} accurate", share);
      found.tell(says, say("Two standard errors are {0} points.", within(right)));
      map.draw(known[at.way], at);
    });
    const sliders = {
      count: slider(say("directions kept of {0} in layer 1", directions.hidden), 0, most, 1, at.count, String, (count) => { at.count = count; draw(); }),
      lam: slider("λ", 0, lams.at(-1), 0.2, at.lam, (lam) => lam.toFixed(1), (lam) => { at.lam = lam; draw(); }),
    };
    function set(values) {
      Object.assign(at, values);
      sliders.count.set(at.count);
      sliders.lam.set(at.lam);
      draw();
    }
    const way = made("select", "", {}, ...ways.map((name) => made("option", name)));
    way.addEventListener("change", () => { at.way = way.value; draw(); fill(); });
    host.replaceChildren(...found.parts, key(["ws-got", say("one network, merged")], ["ws-own", say("the task’s own network")]),
      made("div", "", { className: "ws-both" },
        made("div", "", {}, sliders.count.part, sliders.lam.part, made("label", say("task vectors "), { className: "ws-slide" }, way), ...measures.map(({ part }) => part)), map.part),
      made("p", say("{0}, all pixels permuted, {1} test images a task. Weights are rounded to float16. Of the output layer, one of ten directions is kept from the first on. The best place of the map (×) is chosen on the images that it shows, so its accuracy flatters.", source, labels.length), { className: "ws-caption" }));
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });

    // The map is filled while the page rests, one count of directions after the other.
    let filling = 0;
    async function fill() {
      const [mine, name] = [++filling, at.way];
      for (let count = 0; count <= most; count++) {
        for (const lam of lams) if (!known[name].has(`${count} ${lam}`)) known[name].set(`${count} ${lam}`, mean(directions.accuracies(name, count, lam)));
        if (at.way === name) map.draw(known[name], at);
        await rest();
        if (mine !== filling) return;
      }
    }
    draw();
    fill();
    return set;
  }

  const [LOW, HIGH] = [0.1, 0.9]; // ends of the map's scale: guessing, and about what a task's own network knows

  // Mean accuracy by directions (across) and λ (up). A press goes there.
  function mapOf(most, lams, chosen) {
    const cell = 10;
    const canvas = made("canvas", "", { width: (most + 1) * cell, height: lams.length * cell, role: "img" });
    canvas.setAttribute("role", "img");
    canvas.addEventListener("click", ({ offsetX, offsetY }) => {
      const [across, up] = [Math.floor(offsetX / canvas.clientWidth * (most + 1)), Math.floor((1 - offsetY / canvas.clientHeight) * lams.length)];
      chosen(Math.min(most, Math.max(0, across)), lams[Math.min(lams.length - 1, Math.max(0, up))]);
    });
    const part = made("div", "", { className: "ws-ranks" }, made("p", say("Mean accuracy. Press a place to go there."), {}), canvas,
      made("p", say("→ directions kept, 0 to {0}; ↑ λ, 0 to {1}", most, lams.at(-1)), {}), made("p", "", { className: "ws-scale" }, made("span", percent(LOW)), made("i", "", { ariaHidden: "true" }), made("span", percent(HIGH))));
    function draw(known, at) {
      const [style, pen] = [getComputedStyle(part), canvas.getContext("2d")];
      const [low, high, ink, surface] = ["--low", "--high", "--ink", "--surface"].map((name) => style.getPropertyValue(name));
      pen.clearRect(0, 0, canvas.width, canvas.height);
      let best = { share: -1 };
      for (const [place, share] of known) {
        const [count, lam] = place.split(" ").map(Number);
        if (share > best.share) best = { share, count, lam };
        pen.fillStyle = `color-mix(in oklab, ${high} ${100 * Math.min(1, Math.max(0, (share - LOW) / (HIGH - LOW)))}%, ${low})`;
        pen.fillRect(count * cell, (lams.length - 1 - lams.indexOf(lam)) * cell, cell, cell);
      }
      const cross = [(best.count + 0.5) * cell, (lams.length - 0.5 - best.lam * 5) * cell];
      const [x, y] = [(at.count + 0.5) * cell, (lams.length - 0.5 - at.lam * 5) * cell];
      for (const [color, width] of [[surface, 6], [ink, 3]]) {
        Object.assign(pen, { strokeStyle: color, lineWidth: width });
        pen.beginPath();
        pen.arc(x, y, 9, 0, 7);
        for (const side of best.share < 0 ? [] : [1, -1]) {
          pen.moveTo(cross[0] - 5, cross[1] - 5 * side);
          pen.lineTo(cross[0] + 5, cross[1] + 5 * side);
        }
        pen.stroke();
      }
      canvas.ariaLabel = say("Map of mean accuracy. Highest so far: {0} with {1} directions and λ = {2}.", percent(best.share), best.count, best.lam);
    }
    return { part, draw };
  }

  const KINDS = { mixing: [Mixing, showMixing], directions: [Directions, showDirections] };

  // Loads a desk and its networks when it comes into sight.
  async function begin(host) {
    try {
      const desk = await weightspace.beside(host.dataset.name, host.dataset.desk);
      const [kind, show] = KINDS[desk.kind];
      const told = (share) => { host.firstChild.textContent = say("The networks look at their images: {0}", percent(share)); };
      const computes = await kind.of(desk, "plain" in host.dataset, told);
      Object.assign(host, { computes, set: show(host, computes) });
      host.dataset.ready = "";
    } catch (error) {
      host.textContent = say("These networks cannot be shown here: {0}.", error.message);
    }
  }
  const nearing = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      nearing.unobserve(target);
      target.replaceChildren(made("p", say("The networks are loaded.")));
      begin(target);
    }
  }, { rootMargin: "300px" });
  hosts.forEach((host) => nearing.observe(host));
})();
