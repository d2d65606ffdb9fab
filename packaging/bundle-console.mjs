import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { pid } from "node:process";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";
import { packageRoot } from "../dist/shared/paths.js";

// The third step of the build: the page of the console, as files that are named by their content and never change.
const root = packageRoot();
const from = (name) => fileURLToPath(new URL(`src/console/${name}`, root));
const folder = fileURLToPath(new URL("dist/console", root));
const draft = `${folder}-${pid}`;

const bundle = await rolldown({
  input: from("main.tsx"),
  platform: "browser",
  resolve: { alias: { "node:url": from("url.ts") } },
  transform: { target: "es2022" },
  checks: { bundlerTimings: false },
  onLog: (level, log) => {
    if (level === "warn")
      throw new Error(`the console would differ from its source: ${log.message}`);
  },
});
const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
await bundle.close();

mkdirSync(draft, { recursive: true });
/** Writes a file beside its brotli form. @returns the name that it is served under */
function write(stem, extension, content) {
  const hash = createHash("sha256")
    .update(content)
    .digest("base64url")
    .replace(/[-_]/g, "")
    .slice(0, 10);
  const name =
    stem === "index" || stem === "icon" ? `${stem}.${extension}` : `${stem}-${hash}.${extension}`;
  writeFileSync(`${draft}/${name}`, content);
  writeFileSync(`${draft}/${name}.br`, brotliCompressSync(content));
  return name;
}

const style = readFileSync(from("style.css"), "utf8").replace(/\n\s*/g, "\n");
const names = {
  SCRIPT: write("console", "js", output[0].code),
  STYLE: write("console", "css", style),
};
write("icon", "svg", readFileSync(from("icon.svg"), "utf8"));
write(
  "index",
  "html",
  readFileSync(from("index.html"), "utf8").replace(/SCRIPT|STYLE/g, (name) => names[name]),
);
rmSync(folder, { recursive: true, force: true });
renameSync(draft, folder);
