// The command that the server prints while there are no users.
import { expect, test } from "bun:test";
import { firstStep } from "../../cli/first-step.ts";
import { containerEngine } from "../../src/config/container.ts";
import { readConfig } from "../../src/config/settings.ts";

const VARIABLES = { PODKEEP_DATA_DIR: "/data", PODKEEP_HOST: "0.0.0.0" };

test("in a container it is run from outside, and has no flags for the container's own variables", () => {
  const settings = readConfig({ port: "8100" }, VARIABLES);
  const inDocker = firstStep(settings, { engine: "docker", host: "3f2a1b0c9d8e" });
  expect(inDocker).toStartWith("docker exec -it 3f2a1b0c9d8e ");
  expect(inDocker).toEndWith("user create me --password --token phone --port 8100");
  expect(firstStep(settings, { engine: "podman", host: "named" })).toStartWith("podman exec -it CONTAINER ");
});

test("outside of one it has a flag for every setting that the command needs", () => {
  const step = firstStep(readConfig({}, VARIABLES), { engine: null, host: "3f2a1b0c9d8e" });
  expect(step).toEndWith("user create me --password --token phone --data-dir /data --host 0.0.0.0");
});

test("Docker and Podman are recognised by their marks", () => {
  expect(containerEngine((path) => path === "/.dockerenv", {})).toBe("docker");
  expect(containerEngine((path) => path === "/run/.containerenv", {})).toBe("podman");
  expect(containerEngine(() => false, { container: "podman" })).toBe("podman");
  expect(containerEngine(() => false, {})).toBe(null);
});
