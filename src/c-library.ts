// Functions of the C library of Linux that the runtime doesn't offer.
import { dlopen, type FFIFunction } from "bun:ffi";
import { messageOf } from "./errors.ts";

/** glibc and musl. */
export const C_LIBRARIES = ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];

/**
 * Prepares functions of the C library.
 * @returns null if there is none of C_LIBRARIES
 * @throws Error in the runtime's words if its compiler is off, as it is where memory can't be made executable
 */
export function openCLibrary<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  for (const library of C_LIBRARIES) {
    try {
      return dlopen(library, functions).symbols;
    } catch (error) {
      if (messageOf(error).includes("requires the JIT")) throw error;
    }
  }
  return null;
}
