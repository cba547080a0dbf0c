// Builds the one executable: `npm run build`, for another platform `npm run build -- --target bun-linux-arm64`.
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { target: { type: "string" }, outfile: { type: "string", default: "dist/podkeep" } },
});
const target = values.target ?? `bun-${process.platform}-${process.arch}`;

const { outputs } = await Bun.build({
  entrypoints: [new URL("../cli/main.ts", import.meta.url).pathname],
  minify: true,
  compile: {
    // Bun checks it, and takes another platform's runtime from the npm registry.
    target: target as Bun.Build.CompileTarget,
    outfile: values.outfile,
    // The folder where the executable is started is not its own: nothing in it may change what it does.
    autoloadDotenv: false,
    autoloadBunfig: false,
  },
});
for (const { path, size } of outputs) console.log(`${path}  ${(size / 1e6).toFixed(1)} MB`);
