// Builds a release: `npm run release`, or `npm run release -- linux-arm64` for some platforms only.
import { chmodSync, copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "bun";
import { listContents } from "./sbom.ts";

/** The names of platforms in install.sh, and in Bun. */
const PLATFORMS: Record<string, string> = {
  "linux-x64": "bun-linux-x64",
  "linux-x64-musl": "bun-linux-x64-musl",
  "linux-arm64": "bun-linux-arm64",
  "linux-arm64-musl": "bun-linux-arm64-musl",
  "darwin-x64": "bun-darwin-x64",
  "darwin-arm64": "bun-darwin-arm64",
};

const ROOT = join(import.meta.dir, "..");
const FOLDER = join(ROOT, "dist/release");

const SBOM = "podkeep.cdx.json";

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Builds and compresses one platform's executable. @returns its line of SHA256SUMS */
async function build(platform: string, target: string): Promise<string> {
  const outfile = join(FOLDER, `podkeep-${platform}`);
  const command = [process.execPath, join(ROOT, "scripts/build.ts"), "--target", target, "--outfile", outfile];
  const { success, stderr } = Bun.spawnSync(command, { stdout: "ignore", stderr: "pipe" });
  if (!success) throw new Error(`Building for ${platform} failed: ${stderr}`);
  const whole = await Bun.file(outfile).bytes();
  // In less than half of the time of zlib, and smaller.
  const packed = gzipSync(whole, { level: 7, library: "libdeflate" });
  await Bun.write(`${outfile}.gz`, packed);
  rmSync(outfile);
  console.log(`podkeep-${platform}.gz  ${megabytes(packed.length)}, unpacked ${megabytes(whole.length)}`);
  return `${Bun.SHA256.hash(packed, "hex")}  podkeep-${platform}.gz\n`;
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PLATFORMS));
if (unknown.length > 0) {
  console.error(`Unknown platform: ${unknown.join(", ")}. Platforms: ${Object.keys(PLATFORMS).join(", ")}`);
  process.exit(2);
}
// A web server reads it, as another account.
process.umask(0o022);
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
let sums = "";
for (const [platform, target] of Object.entries(PLATFORMS)) {
  if (wanted.length === 0 || wanted.includes(platform)) sums += await build(platform, target);
}
const contents = listContents();
await Bun.write(join(FOLDER, SBOM), contents);
sums += `${Bun.SHA256.hash(contents, "hex")}  ${SBOM}\n`;
await Bun.write(join(FOLDER, "SHA256SUMS"), sums);
// A clone has the mode that the umask gave it.
copyFileSync(join(ROOT, "install.sh"), join(FOLDER, "install.sh"));
chmodSync(join(FOLDER, "install.sh"), 0o755);
