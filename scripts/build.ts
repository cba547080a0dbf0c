// Builds the executable: `npm run build`, or `npm run build -- --target bun-linux-arm64` for another platform.
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { BunPlugin } from "bun";

const { values } = parseArgs({
  options: { target: { type: "string" }, outfile: { type: "string", default: "dist/podkeep" } },
});
const here = `bun-${process.platform}-${process.arch}`;
const target = values.target ?? here;

/** Bytecode is the same for all processors. It was tried with glibc and musl, and not on macOS from another system. */
const takesBytecode = target === here || target.startsWith("bun-linux-");

/** Empty without git or a clone, as in the Docker build. */
function commit(): string {
  const git = Bun.which("git");
  if (!git) return "";
  return Bun.spawnSync([git, "rev-parse", "--short=12", "HEAD"], { stderr: "ignore" }).stdout.toString().trim();
}

const build = { commit: commit() || "unknown", date: new Date().toISOString().slice(0, 10) };

/** Leaves out zod's 50 languages, which all importers of `z` load: a quarter megabyte at every start. */
const englishOnly: BunPlugin = {
  name: "english only",
  setup(build) {
    build.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
      loader: "js",
    }));
  },
};

const { outputs } = await Bun.build({
  // The program and its checkpoint thread, which must be in the same directory.
  entrypoints: ["../cli/executable.ts", "../src/db/sqlite/checkpoint-thread.ts"].map((file) =>
    join(import.meta.dir, file),
  ),
  naming: { entry: "[name].[ext]" },
  minify: true,
  plugins: [englishOnly],
  // Splitting and bytecode halve the start time.
  splitting: true,
  format: "esm",
  bytecode: takesBytecode,
  define: { BUILD: JSON.stringify(build) },
  compile: {
    // Bun checks the name, and gets the runtime of another platform from the npm registry.
    target: target as Bun.Build.CompileTarget,
    outfile: values.outfile,
    // Files in the current directory must not change what the executable does.
    autoloadDotenv: false,
    autoloadBunfig: false,
    // Most code of a start or of a command runs once: it is compiled after ten times as many runs as usual.
    jitPolicy: 10,
    // Private CAs that the machine trusts, besides the CAs that Bun has.
    execArgv: ["--use-system-ca"],
  },
});
for (const { path } of outputs) console.log(`${path}  ${(Bun.file(path).size / 1e6).toFixed(1)} MB`);
