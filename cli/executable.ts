// Where the executable begins; from source, cli/main.ts is the beginning.

/**
 * Turns off the last of the runtime's three compilers, which takes more processor time and memory than it saves a server
 * that mostly waits (docs/performance.md). The runtime reads it before any code of ours, and in the environment only.
 */
const FEWER_COMPILERS = "BUN_JSC_useFTLJIT";

const args = process.argv.slice(2);
const command = args.find((arg) => !arg.startsWith("-"));
if (command === "serve" && process.env[FEWER_COMPILERS] === undefined) {
  try {
    // The same process, so that its id, files and signals stay as they are.
    process.execve?.(process.execPath, [process.execPath, ...args], { ...process.env, [FEWER_COMPILERS]: "0" });
  } catch {
    // Under an emulator, which the system can't start by the executable's name. It works, with all compilers.
  }
}
await import("./main.ts");
