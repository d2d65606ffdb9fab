import { PassThrough, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { type ColumnOf, countColumn, printList } from "../../src/cli/terminal/list.ts";
import { Printer, tsv } from "../../src/cli/terminal/printer.ts";
import { openProgress, progressLine } from "../../src/cli/terminal/progress.ts";
import { confirmOn, promptOn } from "../../src/cli/terminal/prompt.ts";
import { hasColor, hasUnicode, styleFor, widthOfStream } from "../../src/cli/terminal/style.ts";
import { createRowsTable, renderCard, renderTable } from "../../src/cli/terminal/table.ts";
import { isolateRightToLeft, truncate, widthOf, wrap } from "../../src/cli/terminal/width.ts";
import { counted, grouped, harmless, harmlessJson } from "../../src/shared/contract/text.ts";
import { bar, duration, percent, timeText } from "../../src/shared/numbers.ts";

const plain = styleFor(false);

class Sink extends Writable {
  text = "";
  readonly isTTY: boolean;
  readonly columns = 60;
  constructor(isTTY = false) {
    super();
    this.isTTY = isTTY;
  }
  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

describe("colour", () => {
  test("NO_COLOR over --no-color over FORCE_COLOR over TERM=dumb over the terminal", () => {
    const tty = { isTTY: true };
    expect(hasColor(tty, {})).toBe(true);
    expect(hasColor({}, {})).toBe(false);
    expect(hasColor(tty, { TERM: "dumb" })).toBe(false);
    expect(hasColor(tty, { TERM: "dumb", FORCE_COLOR: "1" })).toBe(true);
    expect(hasColor({}, { FORCE_COLOR: "" })).toBe(true);
    expect(hasColor(tty, { FORCE_COLOR: "0" })).toBe(false);
    expect(hasColor({}, { FORCE_COLOR: "1" }, false)).toBe(false);
    expect(hasColor(tty, { NO_COLOR: "1", FORCE_COLOR: "1" }, true)).toBe(false);
    expect(hasColor(tty, { NO_COLOR: "" })).toBe(true);
  });

  test("styles paint or leave alone", () => {
    expect(plain.strong("x")).toBe("x");
    expect(styleFor(true).strong("x")).toBe("\u001b[1mx\u001b[22m");
    expect(styleFor(true).bar("")).toBe("");
  });

  test("block characters need a locale that has them", () => {
    expect(hasUnicode({ LANG: "de_DE.UTF-8" }, "linux")).toBe(true);
    expect(hasUnicode({ LANG: "de_DE.UTF-8", LC_ALL: "C" }, "linux")).toBe(false);
    expect(hasUnicode({ TERM: "dumb" }, "darwin")).toBe(false);
    expect(hasUnicode({}, "win32")).toBe(true);
    expect(widthOfStream({})).toBe(80);
    expect(widthOfStream({ columns: 0 })).toBe(80);
    expect(widthOfStream({ columns: 5 })).toBe(20);
  });
});

describe("numbers", () => {
  test("grouped, counted, shares, spans and times", () => {
    expect([0, 999, 1000, 1234567].map(grouped)).toEqual(["0", "999", "1,000", "1,234,567"]);
    expect([
      counted(1, "profile"),
      counted(0, "profile"),
      counted(1200, "company", "companies"),
    ]).toEqual(["1 profile", "0 profiles", "1,200 companies"]);
    expect([
      percent(0, 10),
      percent(1, 3),
      percent(1, 1e6),
      percent(5, 0),
      percent(10, 10),
    ]).toEqual(["0.0%", "33.3%", "<0.1%", "", "100.0%"]);
    expect([0, 400, 12_300, 60_000, 200_000, 7_500_000, 273_600_000].map(duration)).toEqual([
      "0.0 s",
      "0.4 s",
      "12 s",
      "1 min",
      "3 min 20 s",
      "2 h 5 min",
      "3 d 4 h",
    ]);
    expect(timeText(0)).toBe("1970-01-01 00:00 UTC");
  });

  test("bars: more than nothing shows, all is full", () => {
    expect([0, 0.001, 0.5, 1, 2, Number.NaN].map((share) => bar(share, 4, true))).toEqual([
      "",
      "▏",
      "██",
      "████",
      "████",
      "",
    ]);
    expect([0, 0.001, 0.5, 1].map((share) => bar(share, 4, false))).toEqual([
      "",
      "#",
      "##",
      "####",
    ]);
  });
});

describe("width", () => {
  test("wide characters take two columns, combining marks none", () => {
    expect([widthOf("abc"), widthOf("日本"), widthOf("👩‍💻"), widthOf("e\u0301")]).toEqual([
      3, 4, 2, 1,
    ]);
  });

  test("texts are cut by columns at whole characters", () => {
    expect(truncate("abcdef", 6)).toBe("abcdef");
    expect(truncate("abcdefg", 6)).toBe("abcde…");
    expect(truncate("日本語テキスト", 6)).toBe("日本…");
    expect(truncate("ab 👩‍💻👩‍💻", 6)).toBe("ab 👩‍💻…");
    expect(truncate("e\u0301e\u0301e\u0301", 2)).toBe("e\u0301…");
    expect(truncate("ab cdef", 4)).toBe("ab…");
  });

  test("right-to-left text is isolated up to the end of its cell", () => {
    expect(isolateRightToLeft("id  שלום עולם 5  12")).toBe("id  \u2068שלום עולם 5\u2069  12");
    expect(isolateRightToLeft("plain  12")).toBe("plain  12");
  });

  test("long values wrap at spaces, and inside words where they must", () => {
    expect(wrap("the quick brown fox", 10)).toEqual(["the quick", "brown fox"]);
    expect(wrap("abcdefghijklm no", 5)).toEqual(["abcde", "fghij", "klm", "no"]);
    expect(wrap("", 5)).toEqual([""]);
  });
});

describe("tables", () => {
  const columns = [
    { title: "name" },
    { title: "people", align: "right" as const, fixed: true },
    { title: "city" },
  ];

  test("no borders, two spaces between cells, nothing at the end of a line", () => {
    const table = renderTable(
      columns,
      [
        ["Ada", "1,234", "Paris"],
        ["日本太郎", "5", ""],
        ["שלום", "7", "Haifa"],
      ],
      {
        width: 80,
        style: plain,
      },
    );
    expect(table).toBe(
      "name      people  city\nAda        1,234  Paris\n日本太郎       5\n\u2068שלום\u2069           7  Haifa\n",
    );
  });

  test("a narrow terminal cuts the widest texts and never the numbers", () => {
    const rows = [
      [
        "A very long name indeed, much too long",
        "1,234,567",
        "Llanfairpwllgwyngyllgogerychwyrndrobwll",
      ],
    ];
    const table = renderTable(columns, rows, { width: 40, style: plain });
    for (const line of table.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(40);
    expect(table).toContain("1,234,567");
    expect(table.match(/…/g)).toHaveLength(2);
  });

  test("what data brings cannot move the cursor, break a line or turn the text around", () => {
    const table = renderTable([{ title: "a" }], [["\u001b[2J\u202egnp.exe\nnext\u0007"]], {
      width: 80,
      style: plain,
    });
    expect(table).toBe("a\n\ufffd[2J\ufffdgnp.exe next\ufffd\n");
  });

  test("colour is on the header alone and changes no width", () => {
    const table = renderTable(columns, [["Ada", "1", "x"]], { width: 80, style: styleFor(true) });
    expect(table.split("\n")[0]).toBe("\u001b[1mname  people  city\u001b[22m");
  });

  test("a growing table keeps the widths of its first page, and shows its header once", () => {
    const table = createRowsTable(["name", "title"], 2, { width: 30, style: plain });
    expect(table([])).toBe("");
    expect(table([["Ada", "Engineer"]])).toBe("name  title\nAda   Engineer\n");
    expect(table([["Bartholomew", "Engineer of Analytical En"]])).toBe(
      "Bar…  Engineer of Analytical…\n",
    );
  });

  test("rows fill the width: more columns where they fit whole and have something to show, numbers to the right", () => {
    const columns = ["name", "people", "city", "empty", "long", "x"];
    const rows = [
      ["Ada", "1205", "London", "", "y".repeat(30), "a"],
      ["Bob", "7", "", "", "", ""],
    ];
    const at = (width: number): string =>
      createRowsTable(columns, 2, { width, style: plain })(rows);
    expect(at(14)).toBe("name  people\nAda     1205\nBob        7\n");
    expect(at(24)).toBe("name  people  city    x\nAda     1205  London  a\nBob        7\n");
    expect(at(60).split("\n")[1]).toBe(`Ada     1205  London  ${"y".repeat(30)}  a`);
  });

  test("where no column would be readable every record is a card", () => {
    const columns = Array.from({ length: 6 }, (_, index) => `field_${index}`);
    const row = columns.map((_, index) => (index === 3 ? "" : `value ${index}`));
    const table = createRowsTable(columns, columns.length, { width: 30, style: plain });
    const card = [0, 1, 2, 4, 5].map((index) => `field_${index}  value ${index}\n`).join("");
    expect(table([row, row]) + table([row])).toBe(`${card}\n${card}\n${card}`);
    expect(
      createRowsTable(columns, columns.length, { width: 46, style: plain })([row]),
    ).not.toContain("field_0  value");
  });

  test("cards leave out what is empty and wrap what is long", () => {
    const card = renderCard(
      [
        ["name", "Ada"],
        ["none", undefined],
        ["about", "one two three four five"],
      ],
      {
        width: 20,
        style: plain,
        indent: 2,
      },
    );
    expect(card).toBe("  name   Ada\n  about  one two\n         three four\n         five\n");
  });

  test("lines for a pipe: bare values, one field a cell", () => {
    expect(tsv([["a\tb\nc", 5, null, true, 12n, undefined]])).toBe("a b c\t5\t\ttrue\t12\t\n");
    expect(tsv([])).toBe("");
  });
});

test("control and bidi characters are made harmless, JSON keeps its value", () => {
  const hostile = "a\u001b]0;x\u0007\u009b31m\u202e\u2066\u200b\ud800\r\nb\u061c";
  expect(harmless(hostile)).toBe("a\ufffd]0;x\ufffd\ufffd31m\ufffd\ufffd\ufffd\ufffd b\ufffd");
  const json = JSON.stringify({ hostile });
  expect(harmlessJson(json)).toMatch(/^[\x20-\x7e]*$/);
  expect(JSON.parse(harmlessJson(json))).toEqual({ hostile });
});

describe("progress", () => {
  const options = (stream: Sink, now: () => number) => ({
    stream,
    enabled: true,
    now,
    style: plain,
    unit: "profile",
  });

  test("off a terminal: a line for every 10%, none twice and none at once, with speed and time left", () => {
    let time = 0;
    const stream = new Sink();
    const progress = openProgress(options(stream, () => time));
    for (const [at, done] of [
      [1000, 100],
      [2000, 150],
      [3000, 190],
      [4000, 400],
      [10_000, 1000],
      [10_000, 1000],
    ] as const) {
      time = at;
      progress.update({ done, total: 1000, detail: `${done} credits` });
    }
    progress.stop();
    expect(stream.text).toBe(
      "15%  150 of 1,000 profiles, 150 credits, 75 profiles/s, 11 s left\n" +
        "40%  400 of 1,000 profiles, 400 credits, 100 profiles/s, 6 s left\n" +
        "100%  1,000 of 1,000 profiles, 1000 credits, 100 profiles/s\n",
    );
  });

  test("what an earlier process had is neither news nor speed", () => {
    const stream = new Sink();
    let time = 0;
    const progress = openProgress({ ...options(stream, () => time), startedWith: 500 });
    time = 2000;
    progress.update({ done: 500, total: 1000 });
    progress.update({ done: 600, total: 1000 });
    expect(stream.text).toBe("60%  600 of 1,000 profiles, 50 profiles/s, 8 s left\n");
  });

  test("waits are said once, hostile text is harmless, quiet is silent", () => {
    const stream = new Sink();
    const progress = openProgress(options(stream, () => 0));
    progress.wait(65_000, "rate limit\u001b[2J: waiting");
    progress.wait(65_000, "rate limit\u001b[2J: waiting");
    progress.wait(200, "a reset connection: trying again in");
    progress.wait(undefined);
    progress.note("note");
    expect(stream.text).toBe("rate limit\ufffd[2J: waiting 1 min 5 s\nnote\n");
    const silent = new Sink();
    const quiet = openProgress({ ...options(silent, () => 0), enabled: false });
    quiet.update({ done: 1, total: 1 });
    quiet.note("x");
    expect(silent.text).toBe("");
  });

  test("one line at every width: how far and how long stay the longest", () => {
    const at = (width: number): string =>
      progressLine(
        { done: 1700, total: 5292, detail: "425 of 1,323 credits" },
        0,
        options(new Sink(true), () => 2000),
        width,
      );
    expect(at(140)).toBe(
      "███▎░░░░░░ 32%  1,700 of 5,292 profiles, 425 of 1,323 credits, 850 profiles/s, 4 s left",
    );
    expect(at(77)).toBe("███▎░░░░░░ 32%  1,700 of 5,292 profiles, 850 profiles/s, 4 s left");
    expect(at(57)).toBe("███▎░░░░░░ 32%  1,700 of 5,292 profiles, 4 s left");
    expect(at(40)).toBe("32%  1,700 of 5,292 profiles, 4 s left");
    expect(at(20)).toBe("32%  4 s left");
  });

  test("what is known to be waited for is never longer than what is left", () => {
    const at = (waitMs: number): string =>
      progressLine(
        { done: 95, total: 100, waitMs },
        0,
        options(new Sink(), () => 10_000),
      );
    expect(at(0)).toBe("95%  95 of 100 profiles, 9.5 profiles/s, 0.5 s left");
    expect(at(33_000)).toBe("95%  95 of 100 profiles, 2.2 profiles/s, 35 s left");
  });

  test("on a terminal what is over at once shows nothing", async () => {
    const stream = new Sink(true);
    const progress = openProgress(options(stream, () => 0));
    progress.update({ done: 5, total: 10 });
    progress.stop();
    progress.stop();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(stream.text).toBe("");
  });
});

describe("the printer", () => {
  const print = async (isTTY: boolean, work: (printer: Printer) => Promise<void> | void) => {
    const [stdout, stderr] = [new Sink(isTTY), new Sink(isTTY)];
    await work(new Printer({ stdout, stderr, env: { NO_COLOR: "1" }, platform: "linux" }));
    return { stdout: stdout.text, stderr: stderr.text };
  };
  test("a list is a table for a person and CSV with a header in a pipe, where nothing is left out", async () => {
    const rows = [{ name: "a\tb", people: 12_345, id: "x1" }];
    const columns: readonly ColumnOf<(typeof rows)[number]>[] = [
      { name: "name" },
      countColumn("people"),
      { name: "id", title: null },
    ];
    const list = (printer: Printer) => printList(columns, rows, printer, "none");
    expect((await print(true, list)).stdout).toBe("name  people\na b   12,345\n");
    expect((await print(false, list)).stdout).toBe("name,people,id\na b,12345,x1\n");
  });

  test("JSON and CSV do nothing to a terminal and lose no byte in a pipe", async () => {
    const evil = "a\u009b1m\u202eb";
    const document = (printer: Printer) => printer.document({ evil } as never);
    expect((await print(true, document)).stdout).toBe('{\n  "evil": "a\\u009b1m\\u202eb"\n}\n');
    expect((await print(false, document)).stdout).toBe(`{"evil":"${evil}"}\n`);
    for (const [format, shown] of [
      ["ndjson", '"a\\u009b1m\\u202eb"\n'],
      ["csv", '"a\ufffd1m\ufffdb"\n'],
    ] as const) {
      const bytes = Buffer.from(`"${evil}"\n`);
      // Cut in the middle of a character.
      const write = async (printer: Printer): Promise<void> => {
        const stream = printer.dataStream(format);
        stream.write(bytes.subarray(0, 3));
        await new Promise((done) => stream.write(bytes.subarray(3), done));
      };
      expect((await print(true, write)).stdout).toBe(shown);
      const whole = (printer: Printer): boolean => printer.dataStream(format).write(bytes);
      expect((await print(false, (printer) => void whole(printer))).stdout).toBe(bytes.toString());
    }
  });

  test("a document is every leaf in a pipe; a card about a question goes to stderr", async () => {
    const document = { a: 1, b: { c: null, d: "x\u001b" }, e: [5n] };
    expect((await print(false, (printer) => printer.leaves(document))).stdout).toBe(
      "a\t1\nb.c\t\nb.d\tx\ufffd\ne.0\t5\n",
    );
    expect(await print(true, (printer) => printer.noteCard([["price", "1 credit"]]))).toEqual({
      stdout: "",
      stderr: "  price  1 credit\n",
    });
  });
});

describe("prompts", () => {
  class Keyboard extends PassThrough {
    readonly isTTY = true;
    readonly modes: boolean[] = [];
    setRawMode(raw: boolean): void {
      this.modes.push(raw);
    }
  }

  test("yes is y or yes; everything else, and the end of input, is no", async () => {
    for (const [typed, expected] of [
      ["y\n", true],
      ["YES\r\n", true],
      ["\n", false],
      ["yep\n", false],
      ["n\n", false],
      ["", false],
    ] as const) {
      const keyboard = new Keyboard();
      const screen = new Sink();
      const answer = confirmOn(keyboard, screen, "Buy? [y/N]");
      keyboard.end(typed);
      expect(await answer, JSON.stringify(typed)).toBe(expected);
      expect(screen.text.replaceAll("\r", "")).toBe(`Buy? [y/N] ${typed.trim()}\n`);
      expect(keyboard.modes).toEqual([true, false]);
    }
  });

  test("where input is no terminal the line is read as it comes", async () => {
    const input = new PassThrough();
    const screen = new Sink();
    const answer = promptOn(input, screen, "Address:");
    input.write("https://x");
    input.write(".com\nmore");
    expect(await answer).toBe("https://x.com");
    expect(screen.text).toBe("Address: ");
  });

  test("a shown answer can be corrected", async () => {
    const keyboard = new Keyboard();
    const screen = new Sink();
    const answer = promptOn(keyboard, screen, "Name:");
    keyboard.write("ab\u007fc\u0015xy\r");
    expect(await answer).toBe("xy");
    expect(stripVTControlCharacters(screen.text).replaceAll("\r", "")).toMatch(
      /^Name: ab.*Name: xy\n$/,
    );
  });

  test("a hidden answer is never shown; keys edit it, paste marks are no part of it; the echo comes back", async () => {
    const keyboard = new Keyboard();
    const screen = new Sink();
    const answer = promptOn(keyboard, screen, "API key:", { hidden: true });
    keyboard.write("wrong\u0015");
    keyboard.write("\u001b[200~hc_live_ax\u001b[201~");
    keyboard.write("\u007fb\u001b[D\r");
    expect(await answer).toBe("hc_live_ab");
    expect(screen.text).toBe("API key: \n");
    expect(keyboard.modes).toEqual([true, false]);
    expect(keyboard.isPaused()).toBe(true);
  });

  test("Ctrl-C, a signal and a failing input end the question and restore the terminal", async () => {
    const keyboard = new Keyboard();
    const pressed = promptOn(keyboard, new Sink(), "key", { hidden: true });
    keyboard.write("abc\u0003");
    await expect(pressed).rejects.toMatchObject({ code: "SIGINT" });
    expect(keyboard.modes).toEqual([true, false]);

    const controller = new AbortController();
    const waiting = confirmOn(new Keyboard(), new Sink(), "Buy?", controller.signal);
    controller.abort(new Error("SIGTERM"));
    await expect(waiting).rejects.toThrow("SIGTERM");
    await expect(confirmOn(new Keyboard(), new Sink(), "Buy?", controller.signal)).rejects.toThrow(
      "SIGTERM",
    );

    const broken = new Keyboard();
    const failing = promptOn(broken, new Sink(), "key", { hidden: true });
    broken.destroy(new Error("gone"));
    await expect(failing).rejects.toThrow("gone");
    expect(broken.modes).toEqual([true, false]);
  });
});
