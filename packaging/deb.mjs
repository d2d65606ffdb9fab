// node packaging/deb.mjs [FOLDER]: a .deb of the client from the release in FOLDER (dist/release), with man pages, completions and licences.
// Two builds of one release are equal byte for byte: all times are those of the tarball, all files are root's.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

/** Of every file: what npm gives those of a tarball. */
const EPOCH = "499162500";
const folder = resolve(process.argv[2] ?? "dist/release");
const tarball = readdirSync(folder).find((name) => /^headcount-\d.*\.tgz$/.test(name));
if (tarball === undefined) throw new Error(`${folder} holds no release: npm run release`);
const work = mkdtempSync(join(tmpdir(), "headcount-deb-"));
const root = join(work, "root");
const at = (path) => {
  const full = join(root, path);
  mkdirSync(join(full, ".."), { recursive: true });
  return full;
};
const put = (path, content) => writeFileSync(at(path), content, { mode: 0o644 });
const packed = (content) => gzipSync(content, { level: 9 });

mkdirSync(at("usr/lib/headcount"), { recursive: true });
execFileSync("tar", [
  "-xzf",
  join(folder, tarball),
  "-C",
  join(root, "usr/lib/headcount"),
  "--strip-components=1",
]);
const held = (path) => readFileSync(join(root, "usr/lib/headcount", path));
const { version, description, optionalDependencies } = JSON.parse(held("package.json").toString());
symlinkSync("../lib/headcount/bin/headcount.js", at("usr/bin/headcount"));
chmodSync(join(root, "usr/lib/headcount/bin/headcount.js"), 0o755);
for (const name of readdirSync(join(root, "usr/lib/headcount/docs"), { recursive: true }).filter(
  (each) => each.endsWith(".1"),
)) {
  put(`usr/share/man/man1/${name.split("/").at(-1)}.gz`, packed(held(join("docs", name))));
}
put("usr/share/bash-completion/completions/headcount", held("completions/headcount.bash"));
put("usr/share/zsh/vendor-completions/_headcount", held("completions/_headcount"));
put("usr/share/fish/vendor_completions.d/headcount.fish", held("completions/headcount.fish"));
put(
  "usr/share/doc/headcount/copyright",
  Buffer.concat([held("LICENSE"), Buffer.from("\n"), held("LICENSES.txt")]),
);
put(
  "usr/share/doc/headcount/changelog.gz",
  packed(readFileSync(new URL("../CHANGELOG.md", import.meta.url))),
);
const keychain = Object.entries(optionalDependencies)
  .map(([name, one]) => `${name}@${one}`)
  .join(" ");
put(
  "DEBIAN/control",
  `Package: headcount
Version: ${version}
Section: utils
Priority: optional
Architecture: all
Depends: nodejs (>= 20.19)
Maintainer: the maintainers of headcount <see SECURITY.md>
Description: ${description.split(/[.,]/)[0]}
 A client, and with the natives of headcount-service (npm install -g) the service itself.
 Keys are kept in the keychain where ${keychain} is installed beside it.
`,
);
const files = execFileSync("find", [root, "-exec", "touch", "-h", "-d", `@${EPOCH}`, "{}", "+"]);
if (files.length > 0) throw new Error(files.toString());
execFileSync("chmod", ["-R", "u=rwX,go=rX", root]);
const deb = join(folder, `headcount_${version}_all.deb`);
const env = { ...process.env, SOURCE_DATE_EPOCH: EPOCH };
execFileSync("dpkg-deb", ["--root-owner-group", "-Zxz", "--build", root, deb], {
  env,
  stdio: "ignore",
});
rmSync(work, { recursive: true });
process.stdout.write(`${deb}\n`);
