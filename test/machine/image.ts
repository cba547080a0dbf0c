// The Docker image from the Dockerfile as it is, run as docs/operators/install.md says; each test continues the one before.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { buildImage, createPodman, importBaseImages, type Podman, removeContainers } from "./containers.ts";
import { done, reasonToSkip } from "./debian.ts";

setDefaultTimeout(PATIENCE);

const ROOT = join(import.meta.dir, "../..");
const NAME = "podkeep";
const VOLUME = "podkeep";
const skip = reasonToSkip("image", ["mmdebstrap", "podman", "buildah", "runc", "slirp4netns"]);

describe.skipIf(skip !== null)("the Docker image", () => {
  let podman: Podman;
  let address = "";
  let token = "";

  beforeAll(() => {
    podman = createPodman();
    importBaseImages(podman);
    buildImage(podman, ROOT, NAME);
  });
  afterAll(() => podman && removeContainers(podman), PATIENCE);

  const podkeep = (...words: string[]) => done(podman("exec", NAME, "podkeep", ...words));
  const logs = () => podman("logs", NAME);
  const list = () => fetch(`${address}/v1/subscriptions`, { headers: { Authorization: `Bearer ${token}` } });
  const isReady = () =>
    fetch(`${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  const ready = () => until(isReady);
  const exitCode = () => Number(done(podman("inspect", "--format", "{{.State.ExitCode}}", NAME)));

  test("serves without root, capabilities and a writable root file system", async () => {
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;
    const limits = ["--read-only", "--cap-drop=all", "--security-opt=no-new-privileges"];
    const network = ["--network=slirp4netns", `--publish=127.0.0.1:${port}:8042`];
    done(podman("run", "--detach", "--name", NAME, ...limits, ...network, `--volume=${VOLUME}:/data`, NAME));
    await ready();
    podkeep("user", "create", "ann");
    token = JSON.parse(podkeep("token", "issue", "ann", "--json")).token;
    expect((await list()).status).toBe(200);
    const status = done(podman("top", NAME, "huser", "capeff"))
      .trim()
      .split("\n")
      .at(-1);
    expect(status?.split(/\s+/)).toEqual(["65532", "none"]);
  });

  test("checks its own health", async () => {
    // Docker too asks again before it calls a container unhealthy.
    await until(() => podman("healthcheck", "run", NAME).code === 0);
  });

  test("keeps its data to itself, and doctor finds no fault with its rights", () => {
    const findings: { state: string; advice: string | null }[] = JSON.parse(podkeep("doctor", "--json"));
    expect(findings.filter(({ state }) => state === "problem")).toEqual([]);
    expect(findings.filter(({ advice }) => advice?.includes("chmod"))).toEqual([]);
  });

  test("ends within Docker's ten seconds even if an app keeps a request open, and starts again with its data", async () => {
    const app = connect(Number(new URL(address).port), "127.0.0.1");
    app.on("error", () => {});
    const headers = `Host: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 99`;
    app.write(`POST /v1/subscriptions HTTP/1.1\r\n${headers}\r\n\r\n{`);
    await Bun.sleep(500);
    done(podman("stop", "--time=10", NAME));
    app.destroy();
    expect(exitCode()).toBe(0);
    expect(logs().out).toContain("stopped");
    done(podman("start", NAME));
    await ready();
    expect((await list()).status).toBe(200);
  });

  test("restores a backup that it made", async () => {
    const { file } = JSON.parse(podkeep("backup", "create", "--json"));
    podkeep("user", "create", "late");
    done(podman("stop", NAME));
    done(podman("run", "--rm", "--network=none", `--volume=${VOLUME}:/data`, NAME, "backup", "restore", file, "--yes"));
    done(podman("start", NAME));
    await ready();
    expect((await list()).status).toBe(200);
    expect(podkeep("user", "list")).not.toContain("late");
  });
});
