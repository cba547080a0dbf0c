// The container that this process runs in.
import { existsSync } from "node:fs";

/** Marks of container engines, and the commands that work on their containers. */
const ENGINES = { "/.dockerenv": "docker", "/run/.containerenv": "podman" } as const;

/** The engine's command; null outside of a container. */
export function containerEngine(
  exists: (path: string) => boolean = existsSync,
  env = process.env,
): "docker" | "podman" | null {
  // With --read-only Podman hides its mark.
  if (env["container"] === "podman") return "podman";
  for (const [mark, engine] of Object.entries(ENGINES)) if (exists(mark)) return engine;
  return null;
}
