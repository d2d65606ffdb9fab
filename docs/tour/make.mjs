// Makes the terminal pictures of README from real output: each command runs in a real terminal (a pty made by `script`) on the
// sample, its bytes go through a terminal emulator, and the screen is written as SVG. Chromium renders each of them: text that is not
// as wide there as on the terminal ends the making, and a PNG is left to look at. Usage: node docs/tour/make.mjs [PNG-FOLDER]
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import xterm from "@xterm/headless";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = resolve(HERE, "../..");
const COLUMNS = 92;
const ROWS = 40;
/** Of a character in the font of the pictures. */
const WIDTH = 8.43;
const PICTURES = resolve(process.argv[2] ?? mkdtempSync(join(tmpdir(), "headcount-pictures-")));

/** `type` is typed once the screen shows `when`; `until` takes the picture in the middle of the work. */
const SCENES = [
  { name: "count", command: 'headcount count --department Sales --country "united states"' },
  {
    name: "quote",
    command:
      'headcount search --department Legal --country "united states" --limit 40 -o legal.csv',
    when: "[y/N]",
    type: "y\r",
  },
  {
    name: "progress",
    command: "headcount search --department Sales --limit 2400 --per-page 100 --yes -o sales.csv",
    until: /\b[4-7]\d ?%/,
    // A service as far away as a real one: on the sample the export ends before a person sees anything.
    latency: 300,
  },
  { name: "breakdown", command: "headcount count --seniority-level vp --by department" },
];

const folder = mkdtempSync(join(tmpdir(), "headcount-tour-"));
const environment = {
  PATH: `${folder}/bin:${process.env.PATH}`,
  HOME: join(folder, "home"),
  LANG: "C.UTF-8",
  TERM: "xterm-256color",
  FORCE_COLOR: "1",
  HEADCOUNT_CONNECTION: "sample",
};
mkdirSync(join(folder, "bin"));
mkdirSync(join(folder, "home"));
writeFileSync(
  join(folder, "bin/headcount"),
  `#!/bin/sh\nexec "${process.execPath}" "${ROOT}/bin/headcount.js" "$@"\n`,
);
chmodSync(join(folder, "bin/headcount"), 0o755);

try {
  await play({ command: "headcount account" });
  for (const scene of SCENES) {
    const terminal = await play(scene);
    const svg = svgOf(terminal, scene.command);
    const picture = render(scene.name, svg);
    writeFileSync(join(HERE, `${scene.name}.svg`), svg);
    process.stdout.write(`docs/tour/${scene.name}.svg ${picture}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs a command in a pty and returns the terminal as it looks at the end, or where `until` is first seen. */
async function play(scene) {
  const service = scene.latency === undefined ? undefined : await serve(scene.latency);
  const terminal = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  const script = `stty cols ${COLUMNS} rows ${ROWS}; ${scene.command}`;
  const child = spawn("script", ["-qefc", script, "/dev/null"], {
    cwd: folder,
    env: { ...environment, ...service?.environment },
  });
  const ended = new Promise((done) => child.once("exit", done));
  let typed = false;
  let taken = false;
  for await (const data of child.stdout) {
    if (taken) continue;
    await new Promise((done) => terminal.write(data, done));
    const text = screen(terminal).join("\n");
    if (scene.when !== undefined && !typed && text.includes(scene.when)) {
      typed = true;
      child.stdin.write(scene.type);
    }
    if (scene.until?.test(text)) taken = true;
  }
  await ended;
  service?.stop();
  if (scene.until !== undefined && !taken)
    throw new Error(
      `${scene.name}: ${scene.until} was never on the screen:\n${screen(terminal).join("\n").trim()}`,
    );
  return terminal;
}

/** A service of its own that answers after `latency` milliseconds, and the variables that lead there. */
async function serve(latency) {
  const argv = ["serve", "--port", "0", "--json", "--data", join(folder, "service")];
  const child = spawn(join(folder, "bin/headcount"), argv, {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await new Promise((done) =>
    child.stdout.once("data", (data) => done(String(data).split("\n"))),
  );
  const { url, key } = JSON.parse(line);
  const late = createServer((socket) => {
    const service = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("data", (bytes) => setTimeout(() => service.write(bytes), latency));
    service.pipe(socket);
    for (const end of [socket, service]) end.on("error", () => undefined);
    socket.on("close", () => service.destroy());
  });
  await new Promise((done) => late.listen(0, "127.0.0.1", done));
  const base = `http://127.0.0.1:${late.address().port}`;
  return {
    environment: { HEADCOUNT_CONNECTION: "", HEADCOUNT_BASE_URL: base, HEADCOUNT_API_KEY: key },
    stop: () => {
      late.close();
      child.kill("SIGTERM");
    },
  };
}

/** Draws a picture in Chromium, as a file of its own and measured. @returns the PNG */
function render(name, svg) {
  const [page, file, png] = [
    join(folder, "check.html"),
    join(folder, `${name}.svg`),
    join(PICTURES, `${name}.png`),
  ];
  const measure = `const wide = [...document.querySelectorAll("text")].filter((text) =>
    Math.abs(text.getComputedTextLength() - [...text.textContent].length * ${WIDTH}) > 4);
    document.title = JSON.stringify(wide.map((text) => text.textContent));`;
  writeFileSync(file, svg);
  writeFileSync(page, `<!doctype html><meta charset="utf-8">${svg}<script>${measure}</script>`);
  const [width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg).slice(1).map(Number);
  const chromium = (...args) =>
    execFileSync(
      "chromium",
      [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        `--user-data-dir=${folder}/chromium`,
        ...args,
      ],
      {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      },
    );
  const title = /<title>(\[.*?\])<\/title>/s.exec(chromium("--dump-dom", `file://${page}`))?.[1];
  if (title !== "[]")
    throw new Error(`${name}.svg: text is not as wide in Chromium as on the terminal: ${title}`);
  chromium(`--screenshot=${png}`, `--window-size=${width},${height + 100}`, `file://${file}`);
  return png;
}

function screen(terminal) {
  const buffer = terminal.buffer.active;
  return Array.from(
    { length: buffer.length },
    (_, row) => buffer.getLine(row)?.translateToString(true) ?? "",
  );
}

function colourOf(cell) {
  const palette = [
    "#3b4252",
    "#d0606a",
    "#8fb573",
    "#d9b36c",
    "#6f9fd8",
    "#b48ead",
    "#6fb8c4",
    "#d8dee9",
  ];
  if (cell.isFgRGB()) return `#${cell.getFgColor().toString(16).padStart(6, "0")}`;
  if (cell.isFgPalette()) return palette[cell.getFgColor() % 8];
  return cell.isDim() ? "#7b8696" : "#d8dee9";
}

/** The used part of the screen as SVG: one text element a run of cells that look the same. */
function svgOf(terminal, command) {
  const [width, height, pad] = [WIDTH, 18, 16];
  const lines = screen(terminal);
  while (lines.at(-1) === "") lines.pop();
  const escaped = (text) =>
    text.replace(/[&<>]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[character]);
  const text = (x, y, fill, bold, content) =>
    // On every one of them: a browser's own style sheet stands between them and what their parents say.
    `<text xml:space="preserve" x="${(pad + x * width).toFixed(1)}" y="${(pad + (y + 1) * height - 5).toFixed(1)}" fill="${fill}"${bold ? ' font-weight="bold"' : ""}>${escaped(content)}</text>`;
  const parts = [text(0, 0, "#8fb573", true, "$"), text(2, 0, "#eceff4", false, command)];
  lines.forEach((_, row) => {
    const line = terminal.buffer.active.getLine(row);
    let run;
    const flush = () => {
      if (run?.content.trim()) parts.push(text(run.x, row + 1, run.fill, run.bold, run.content));
      run = undefined;
    };
    for (let x = 0; x < COLUMNS; x++) {
      const cell = line.getCell(x);
      if (cell.getWidth() === 0) continue;
      const style = { fill: colourOf(cell), bold: cell.isBold() !== 0 };
      if (run === undefined || run.fill !== style.fill || run.bold !== style.bold) {
        flush();
        run = { x, content: "", ...style };
      }
      run.content += cell.getChars() || " ";
    }
    flush();
  });
  const size = { width: pad * 2 + COLUMNS * width, height: pad * 2 + (lines.length + 1) * height };
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width.toFixed(0)} ${size.height}" width="${size.width.toFixed(0)}" height="${size.height}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" role="img">
<title>${escaped(command)}</title>
<rect width="100%" height="100%" rx="8" fill="#22272e"/>
${parts.join("\n")}
</svg>
`;
}
