// Where the executable begins; from source, cli/main.ts is the beginning.

/**
 * What the runtime reads before any code of ours, and in the environment only (docs/performance.md). The last of its three
 * compilers takes more processor time and memory than it saves a server that mostly waits. And the less memory it takes
 * the machine to have, in bytes, the earlier it collects garbage.
 */
const RUNTIME = { BUN_JSC_useFTLJIT: "0", BUN_JSC_forceRAMSize: String(160 * 1024 * 1024) };

const args = process.argv.slice(2);
const command = args.find((arg) => !arg.startsWith("-"));
const isSet = Object.keys(RUNTIME).every((name) => process.env[name] !== undefined);
if (command === "serve" && !isSet) {
  try {
    // The same process, so that its id, files and signals stay as they are.
    process.execve?.(process.execPath, [process.execPath, ...args], { ...RUNTIME, ...process.env });
  } catch {
    // Under an emulator, which the system can't start by the executable's name. It works, with all compilers and a larger heap.
  }
}
await import("./main.ts");
