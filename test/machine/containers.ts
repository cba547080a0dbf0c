// Podman with private storage, and stand-ins for the images that the Dockerfile starts from.
import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { copyDebian, debianRoot, done, must, type Ran, run, scratchPath } from "./debian.ts";

/** Packages of gcr.io/distroless/base-debian12. */
const BASE = ["base-files", "ca-certificates", "libc6", "libssl3", "netbase", "tzdata"];
const NONROOT = 65532;
const CERTIFICATES = "/etc/ssl/certs";

/** Runs `podman` with these words. */
export type Podman = (...words: string[]) => Ran;

/** Prepares Podman in a directory of the tests. */
export function createPodman(): Podman {
  const directory = scratchPath("podman");
  mkdirSync(directory);
  const write = (name: string, lines: string[]) => {
    writeFileSync(join(directory, name), `${lines.join("\n")}\n`);
    return join(directory, name);
  };
  const settings = [
    "[containers]",
    // Defaults above the limits of this machine would be refused.
    'default_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]',
    "[engine]",
    'cgroup_manager = "cgroupfs"',
    'events_logger = "file"',
    'runtime = "runc"',
    `tmp_dir = "${directory}/libpod"`,
  ];
  const storage = (driver: string) => [
    "[storage]",
    `driver = "${driver}"`,
    `graphroot = "${directory}/graph"`,
    `runroot = "${directory}/run"`,
    // A mount that outlives the containers: a late clean-up of one that ended would make it again.
    "[storage.options.overlay]",
    'skip_mount_home = "true"',
  ];
  const env = {
    ...process.env,
    BUILDAH_ISOLATION: "chroot",
    CONTAINERS_CONF: write("containers.conf", settings),
    CONTAINERS_REGISTRIES_CONF: write("registries.conf", ['unqualified-search-registries = ["docker.io"]']),
    CONTAINERS_STORAGE_CONF: write("storage.conf", storage("overlay")),
  };
  const podman = (...words: string[]) => run(["podman", ...words], "", env);
  // Slower, and without needs.
  if (podman("info").code !== 0) write("storage.conf", storage("vfs"));
  return podman;
}

/** Removes all containers. */
export function removeContainers(podman: Podman): void {
  podman("rm", "--force", "--all", "--time=0");
}

/** Makes stand-ins under the names of the base images: Debian with this machine's Node.js, and few files without a shell. */
export function importBaseImages(podman: Podman): void {
  importImage(podman, makeNode(), "docker.io/library/node:24-bookworm-slim");
  importImage(podman, makeBase(), "gcr.io/distroless/base-debian12:nonroot", `USER=${NONROOT}`);
}

function importImage(podman: Podman, root: string, name: string, ...changes: string[]): void {
  const archive = `${root}.tar`;
  must(["tar", "-C", root, "-cf", archive, "."]);
  done(podman("import", "--quiet", ...changes.flatMap((change) => ["--change", change]), archive, name));
  must(["rm", "-rf", root, archive]);
}

function makeNode(): string {
  const root = copyDebian("node");
  const local = join(root, "usr/local");
  const npm = dirname(dirname(realpathSync(Bun.which("npm") ?? "npm")));
  mkdirSync(join(local, "lib/node_modules"), { recursive: true });
  must(["cp", realpathSync(Bun.which("node") ?? "node"), join(local, "bin/node")]);
  must(["cp", "-a", npm, join(local, "lib/node_modules/npm")]);
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(local, "bin/npm"));
  return root;
}

function makeBase(): string {
  const debian = debianRoot();
  const root = scratchPath("distroless");
  const files = must(["chroot", debian, "dpkg", "-L", ...BASE])
    .split("\n")
    .filter((file) => file.startsWith("/") && !/^\/usr\/share\/(doc|lintian|locale|man)\//.test(file));
  const wanted = must(
    ["chroot", debian, "sh", "-c", 'while read f; do [ -f "$f" ] && echo ".$f"; done; true'],
    files.join("\n"),
  );
  mkdirSync(root);
  must(["tar", "-C", debian, "-cf", `${root}.tar`, "-T", "-"], `${wanted}.${CERTIFICATES}/ca-certificates.crt\n`);
  must(["tar", "-C", root, "-xf", `${root}.tar`]);
  for (const name of ["dev", "home/nonroot", "proc", "run", "sys", "tmp"]) {
    mkdirSync(join(root, name), { recursive: true });
  }
  must(["chmod", "1777", join(root, "tmp")]);
  must(["chown", `${NONROOT}:${NONROOT}`, join(root, "home/nonroot")]);
  const line = (name: string, id: number) => `${name}:x:${id}:${id}:${name}:/home/${name}:/sbin/nologin\n`;
  writeFileSync(join(root, "etc/passwd"), line("root", 0) + line("nonroot", NONROOT));
  writeFileSync(join(root, "etc/group"), `root:x:0:\nnonroot:x:${NONROOT}:\n`);
  return root;
}

/** Builds the Dockerfile as it is. Packages come through this machine's npm settings, certificates and cache. */
export function buildImage(podman: Podman, context: string, tag: string): void {
  const setting = (name: string) => must(["npm", "config", "get", name]).trim();
  const mounts: [string, string, string][] = [
    [setting("userconfig"), "/root/.npmrc", "ro"],
    [setting("globalconfig"), "/usr/local/etc/npmrc", "ro"],
    [setting("cache"), "/root/.npm", "rw"],
    [CERTIFICATES, CERTIFICATES, "ro"],
  ];
  const volumes = mounts
    .filter(([from]) => existsSync(from))
    .flatMap(([from, to, mode]) => ["--volume", `${from}:${to}:${mode}`]);
  done(podman("build", "--format=docker", "--network=host", "--pull=never", ...volumes, "--tag", tag, context));
}
