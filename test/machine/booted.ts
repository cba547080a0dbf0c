// A machine that systemd has booted, in a container.
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/patience.ts";
import { track } from "../support/start-server.ts";
import { copyDebian, must, type Ran, run, scratchPath } from "./debian.ts";

const NAME = "podkeep-test";
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export interface Machine {
  /** Runs a program as root. */
  root(...words: string[]): Ran;
  /** Runs a program as an ordinary user, who may use sudo. */
  admin(...words: string[]): Ran;
  /** Path on this machine of a file in the other one. */
  path(file: string): string;
  close(): Promise<void>;
}

const ADMIN = "admin";

/** Boots Debian with systemd, a user who may use sudo, and a network of nothing but loopback. */
export async function bootMachine(): Promise<Machine> {
  const directory = copyDebian(NAME);
  const path = (file: string) => join(directory, file);
  writeFileSync(path("etc/hostname"), `${NAME}\n`);
  writeFileSync(path("etc/hosts"), `127.0.0.1 localhost ${NAME}\n`);
  must(["chroot", directory, "useradd", "--create-home", "--shell", "/bin/bash", ADMIN]);
  writeFileSync(path("etc/sudoers.d/admin"), `${ADMIN} ALL=(ALL) NOPASSWD: ALL\n`, { mode: 0o440 });
  rmSync(path("etc/machine-id"), { force: true });
  must(["systemd-machine-id-setup", `--root=${directory}`]);

  const log = openSync(scratchPath("boot.log"), "w");
  const options = ["--boot", "--private-network", "--register=no", "--keep-unit", "--console=pipe"];
  const nspawn = ["systemd-nspawn", `--directory=${directory}`, ...options];
  // It must not outlive the tests, even if they are killed.
  const words = ["setpriv", "--pdeathsig", "KILL", ...nspawn];
  const child = track(Bun.spawn(words, { stdin: "ignore", stdout: log, stderr: log }));
  closeSync(log);

  const children = `/proc/${child.pid}/task/${child.pid}/children`;
  // A helper, which ends, is there before the container's first process.
  const isFirst = (pid: string) => run(["grep", "-qP", "^NSpid:.*\t1$", `/proc/${pid}/status`]).code === 0;
  const find = () => readFileSync(children, "utf8").trim().split(" ").find(isFirst);
  const leader = await until(find);
  const enter = ["nsenter", "-t", leader, "-m", "-p", "-u", "-i", "-n", "-C", "-r", "-w", "env", "-i", `PATH=${PATH}`];
  const machine: Machine = {
    root: (...words) => run([...enter, "HOME=/root", ...words]),
    admin: (...words) => run([...enter, "runuser", "-u", ADMIN, "--", "env", `HOME=/home/${ADMIN}`, ...words]),
    path,
    async close() {
      machine.root("systemctl", "poweroff", "--force");
      await Promise.race([child.exited, Bun.sleep(10_000)]);
      child.kill("SIGKILL");
      await child.exited;
    },
  };
  await until(() => /running|degraded/.test(machine.root("systemctl", "is-system-running").out));
  return machine;
}
