// Builds the one executable: `npm run build`, for another platform `npm run build -- --target bun-linux-arm64`.
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { target: { type: "string" }, outfile: { type: "string", default: "dist/podkeep" } },
});
const here = `bun-${process.platform}-${process.arch}`;
const target = values.target ?? here;

/** Empty where there is no git, or no clone: in the making of the Docker image there is neither. */
function commit(): string {
  const git = Bun.which("git");
  if (!git) return "";
  return Bun.spawnSync([git, "rev-parse", "--short=12", "HEAD"], { stderr: "ignore" }).stdout.toString().trim();
}

const build = { commit: commit() || "unknown", date: new Date().toISOString().slice(0, 10) };

const { outputs } = await Bun.build({
  // The program, and what it runs on a thread of its own; side by side, for it is looked for beside the program.
  entrypoints: ["../cli/main.ts", "../src/db/sqlite/checkpoint-thread.ts"].map(
    (file) => new URL(file, import.meta.url).pathname,
  ),
  naming: { entry: "[name].[ext]" },
  minify: true,
  // Commands load what they need when they need it, parsed already: half the time to start. Only for the platform that
  // parses it, where it was tried, and not on arm64, where it does not run.
  splitting: true,
  format: "esm",
  bytecode: target === here && !target.includes("arm64"),
  define: { BUILD: JSON.stringify(build) },
  compile: {
    // Bun checks it, and takes another platform's runtime from the npm registry.
    target: target as Bun.Build.CompileTarget,
    outfile: values.outfile,
    // The folder where the executable is started is not its own: nothing in it may change what it does.
    autoloadDotenv: false,
    autoloadBunfig: false,
  },
});
for (const { path } of outputs) console.log(`${path}  ${(Bun.file(path).size / 1e6).toFixed(1)} MB`);
