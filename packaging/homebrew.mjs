// node packaging/homebrew.mjs [FOLDER]: headcount.rb, a Homebrew formula of the release in FOLDER (dist/release): what the registry serves
// under this version, with the sum of SHA256SUMS. It goes into a tap; `headcount-service` is installed beside it by the command the program says.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(process.argv[2] ?? "dist/release");
const [, sha256, tarball, version] =
  /^([0-9a-f]{64}) {2}(headcount-(\d\S*)\.tgz)$/m.exec(
    readFileSync(join(folder, "SHA256SUMS"), "utf8"),
  ) ?? [];
if (tarball === undefined || !readdirSync(folder).includes(tarball))
  throw new Error(`${folder} holds no release: npm run release`);
const formula = `class Headcount < Formula
  desc "Count a segment of people, see what it costs, buy exactly that"
  homepage "https://www.npmjs.com/package/headcount"
  url "https://registry.npmjs.org/headcount/-/${tarball}"
  version "${version}"
  sha256 "${sha256}"
  license "MIT"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
    man1.install_symlink Dir[libexec/"lib/node_modules/headcount/docs/man/*.1"]
    generate_completions_from_executable(bin/"headcount", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/headcount --version").strip
  end
end
`;
writeFileSync(join(folder, "headcount.rb"), formula);
process.stdout.write(`${join(folder, "headcount.rb")}\n`);
