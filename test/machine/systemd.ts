// podkeep as a service of a booted systemd, from the install to the uninstall; each test continues the one before.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { writeAntennaPod } from "../support/antennapod.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { executable } from "../support/start-server.ts";
import { bootMachine, type Machine } from "./booted.ts";
import { done, reasonToSkip } from "./debian.ts";

setDefaultTimeout(PATIENCE);

const PROGRAM = "/usr/local/bin/podkeep";
const SETTINGS = "/etc/podkeep.env";
const DATA = "/var/lib/podkeep";
/** A server of one feed, in what a minimal Debian has. */
const FEED_SERVER = `use IO::Socket::INET;
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 8099, Listen => 5, ReuseAddr => 1) or die $!;
my $feed = "<rss version='2.0'><channel><title>A podcast of its own</title></channel></rss>";
while (my $client = $server->accept) {
  while (my $line = <$client>) { last if $line =~ /^\\r?$/ }
  print $client "HTTP/1.1 200 OK\\r\\nContent-Type: application/rss+xml\\r\\nContent-Length: " . length($feed);
  print $client "\\r\\nConnection: close\\r\\n\\r\\n$feed";
  close $client;
}
`;
/** Waits until `look`, which starts programs, finds something. */
const see = <T>(look: () => T | Promise<T>) => until(look, 200);
const skip = reasonToSkip("systemd", ["mmdebstrap", "systemd-nspawn", "nsenter", "setpriv"]);

describe.skipIf(skip !== null)("on a machine with systemd", () => {
  let machine: Machine;
  let token = "";

  beforeAll(async () => {
    machine = await bootMachine();
    await install();
  });
  afterAll(() => machine?.close(), PATIENCE);

  async function install(): Promise<void> {
    const next = machine.path(`${PROGRAM}.next`);
    copyFileSync(await executable(), next);
    renameSync(next, machine.path(PROGRAM));
  }
  function write(file: string, text: string): void {
    mkdirSync(dirname(machine.path(file)), { recursive: true });
    writeFileSync(machine.path(file), text);
  }
  /** Runs `sudo podkeep`, which has to succeed, and returns its output. */
  const podkeep = (...words: string[]) => done(machine.admin("sudo", "podkeep", ...words));
  const systemctl = (...words: string[]) => done(machine.root("systemctl", ...words));
  /** Starts the service or starts it again; as often as the tests do, systemd would refuse. */
  const restart = () => {
    systemctl("reset-failed", "podkeep");
    return machine.root("systemctl", "restart", "podkeep");
  };
  const property = (name: string) => systemctl("show", "--value", `--property=${name}`, "podkeep").trim();
  const journal = () => {
    // What was logged may not have been read by systemd-journald.
    done(machine.root("journalctl", "--sync"));
    return done(machine.root("journalctl", "--no-pager", "--output=cat", "--unit=podkeep"));
  };
  const status = (path: string, bearer = token) => {
    const url = `http://127.0.0.1:8042${path}`;
    const asked = ["--silent", "--output", "/dev/null", "--write-out", "%{http_code}"];
    return Number(machine.admin("curl", ...asked, "--header", `Authorization: Bearer ${bearer}`, url).out);
  };
  const ready = () => see(() => status("/readyz") === 200);
  /** Waits until the service runs as another process than `before`. */
  const restarted = async (before: string) => {
    await see(() => property("ActiveState") === "active" && property("MainPID") !== before);
    await ready();
  };
  /** Settings or limits of the service, until `undo`. */
  const dropIn = "/etc/systemd/system/podkeep.service.d/test.conf";
  function override(lines: string): void {
    write(dropIn, `[Service]\n${lines}\n`);
    systemctl("daemon-reload");
  }
  const strangers = () => machine.root("find", DATA, "!", "-user", "podkeep").out;

  test("sudo podkeep service install starts the service now and at every boot", async () => {
    // On all addresses: the setup link needs those of the machine.
    expect(podkeep("service", "install", "--host", "0.0.0.0")).toContain(
      "Create a user: sudo podkeep user create me --password --token phone",
    );
    expect(status("/readyz")).toBe(200);
    expect(journal()).toContain("/setup/");
    expect(journal()).toContain("sudo podkeep user create me --password --token phone");
    expect(property("UnitFileState")).toBe("enabled");
    expect(machine.admin("podkeep", "service", "status")).toMatchObject({ code: 0 });
  });

  test("sudo podkeep user create and token issue give a token that the service accepts", () => {
    podkeep("user", "create", "ann");
    token = JSON.parse(podkeep("token", "issue", "ann", "--label", "phone", "--json")).token;
    expect(status("/v1/subscriptions")).toBe(200);
    expect(status("/")).toBe(200);
    expect(podkeep("user", "list")).toContain("ann");
    expect(machine.root("find", "/root", "/home", "-name", "podkeep*").out).toBe("");
  });

  test("a second install, such as for another setting, does not ask for a first user", () => {
    const said = podkeep("service", "install", "--host", "0.0.0.0");
    expect(said).toContain("The service runs.");
    expect(said).not.toContain("user create");
    expect(strangers()).toBe("");
  });

  test("a setting with which the service can't start is refused, and it runs on with its former settings", async () => {
    const { code, err } = machine.admin("sudo", "podkeep", "service", "install", "--port", "80");
    expect([code, err]).toEqual([1, expect.stringMatching(/[^.]\. The settings were put back; sudo journalctl/)]);
    await ready();
    expect(done(machine.root("cat", SETTINGS))).not.toContain("80");
  });

  test("a service that systemd can't load is not said to be missing", () => {
    override(`ExecStart=${PROGRAM} serve --port 9000`);
    for (const words of [["service", "status"], ["doctor"]]) {
      const { code, out, err } = machine.admin("sudo", "podkeep", ...words);
      expect([code, out + err]).toEqual([1, expect.stringContaining("systemd can't load the service (bad-setting)")]);
    }
    override("");
  });

  test("what systemctl edit sets for the server counts for commands too, as systemd reads it", async () => {
    const words = [
      String.raw`"PODKEEP_BACKUP_DIR=${DATA}/an \"odd\" one"`,
      "PODKEEP_PUBLIC_URL='https://a.example/a%%20b'",
    ];
    override(`Environment=${words.join(" \\\n  ")}\nEnvironment=PODKEEP_BACKUP_KEEP=5 PODKEEP_LOG_LEVEL="info"`);
    done(restart());
    await ready();
    const environment = done(machine.root("cat", `/proc/${property("MainPID")}/environ`)).split("\0");
    const shown: { name: string; value: string; source: string }[] = JSON.parse(podkeep("config", "show", "--json"));
    const ours = shown.filter(({ source }) => source === dropIn).map(({ name, value }) => `PODKEEP_${name}=${value}`);
    expect(ours.map((one) => one.replace(/^[^=]+/, (name) => name.toUpperCase())).toSorted()).toEqual(
      environment.filter((one) => /^PODKEEP_(BACKUP_DIR|PUBLIC_URL|BACKUP_KEEP|LOG_LEVEL)=/.test(one)).toSorted(),
    );
    expect(ours).toHaveLength(4);
    override("");
    done(restart());
    await ready();
  });

  test("without sudo a command says to use it, and creates no other database", () => {
    const ran = machine.admin("podkeep", "user", "create", "bob");
    expect(ran.code).not.toBe(0);
    expect(ran.err).toContain("sudo");
    expect(machine.root("find", "/home", "-name", "podkeep*").out).toBe("");
  });

  test.each(["KILL", "HUP", "TERM"])("a server that was ended by SIG%s comes back", async (signal) => {
    const before = property("MainPID");
    machine.root("kill", `-${signal}`, before);
    await restarted(before);
    expect(status("/v1/subscriptions")).toBe(200);
  });

  test("a server that hangs is replaced, and the log doesn't blame a bug in the runtime", async () => {
    override("WatchdogSec=5");
    done(restart());
    const before = property("MainPID");
    machine.root("kill", "-STOP", before);
    await restarted(before);
    expect(journal()).toContain("Watchdog timeout");
    expect(journal()).not.toContain("has crashed");
    override("");
  });

  test("a server whose port is taken or whose address is not there yet starts once it can", async () => {
    write(SETTINGS, 'PODKEEP_HOST="192.0.2.1"\n');
    expect(restart().code).not.toBe(0);
    await see(() => Number(property("NRestarts")) > 0);
    machine.root("ip", "address", "add", "192.0.2.1/32", "dev", "lo");
    await see(() => property("ActiveState") === "active");
    write(SETTINGS, "");
    done(restart());
    await ready();
  });

  test("a server with wrong settings stays down", async () => {
    write(SETTINGS, "PODKEEP_PORT=high\n");
    expect(restart().code).not.toBe(0);
    expect(property("ActiveState")).toBe("failed");
    expect(property("ExecMainStatus")).toBe("3");
    write(SETTINGS, "");
    done(restart());
    await ready();
  });

  test("the service makes scheduled backups, also after a backup was made with sudo", async () => {
    podkeep("backup", "create");
    expect(strangers()).toBe("");
    write(SETTINGS, 'PODKEEP_BACKUP_SCHEDULE="* * * * *"\n');
    const before = backups().length;
    // One is due at once, because none was made in the minute before this one.
    machine.root("find", `${DATA}/backups`, "-name", "*.db", "-delete");
    done(restart());
    await see(() => backups().length > 0 && journal().includes("backup made"));
    expect(before).toBeGreaterThan(0);
    expect(strangers()).toBe("");
    write(SETTINGS, "");
    done(restart());
    await ready();
  });

  const backups = () =>
    machine.root("find", `${DATA}/backups`, "-name", "podkeep-*.db").out.trim().split("\n").filter(Boolean);

  test("sudo podkeep backup create and restore bring the data back, as the service's own", async () => {
    const { file } = JSON.parse(podkeep("backup", "create", "--json"));
    podkeep("user", "create", "late");
    systemctl("stop", "podkeep");
    podkeep("backup", "restore", file, "--yes");
    expect(strangers()).toBe("");
    done(restart());
    await ready();
    expect(status("/v1/subscriptions")).toBe(200);
    expect(podkeep("user", "list")).not.toContain("late");
  });

  test("a new executable serves the same data after a restart", async () => {
    const before = property("MainPID");
    await install();
    expect(status("/v1/subscriptions")).toBe(200);
    done(restart());
    expect(property("MainPID")).not.toBe(before);
    expect(machine.root("readlink", `/proc/${property("MainPID")}/exe`).out.trim()).toBe(PROGRAM);
    expect(status("/v1/subscriptions")).toBe(200);
  });

  test("a backup directory that is not there yet doesn't stop the service, and is used once it is", async () => {
    const directory = "/mnt/backup";
    override(`ReadWritePaths=-${directory}`);
    write(SETTINGS, `PODKEEP_BACKUP_SCHEDULE="* * * * *"\nPODKEEP_BACKUP_DIR=${directory}\n`);
    done(restart());
    await see(() => journal().includes(`"reason":"${directory}`));
    expect(journal()).toMatch(
      /"reason":"\/mnt\/backup\S+ can't be written: (the file system is read-only, or systemd keeps|permission denied)/,
    );
    const diagnosis = machine.admin("sudo", "podkeep", "doctor");
    expect(diagnosis.code).toBe(1);
    expect(diagnosis.out).toContain(
      `problem backups: ${directory} does not exist, and can't be created: permission denied`,
    );
    done(machine.root("install", "-d", "-o", "podkeep", "-m", "700", directory));
    done(restart());
    await see(() => machine.root("sh", "-c", `ls ${directory}/podkeep-*.db`).code === 0);
    override("");
    write(SETTINGS, "");
    done(restart());
    await ready();
  });

  test("the service reads feeds, and files that are moved in on the page", async () => {
    const feed = "http://127.0.0.1:8099/feed";
    write("/usr/local/bin/serve-feed", FEED_SERVER);
    done(machine.root("systemd-run", "--unit=feed", "perl", "/usr/local/bin/serve-feed"));
    write(SETTINGS, "PODKEEP_FEED_LOOKUP=on\nPODKEEP_FEED_LOOKUP_ALLOW=127.0.0.1\nPODKEEP_FEED_LOOKUP_POLL=1s\n");
    done(restart());
    await ready();
    podkeep("subscription", "add", "ann", feed);
    await see(() => podkeep("subscription", "list", "ann").includes("A podcast of its own"));
    writeAntennaPod(
      machine.path("/home/admin/AntennaPod.db"),
      [{ id: 1, url: "https://a.example/rss", title: "Moved" }],
      [],
    );
    const curl = (...words: string[]) =>
      done(machine.admin("curl", "--silent", "--cookie-jar", "/home/admin/jar", ...words));
    curl("--data", `name=ann&password=${token}`, "http://127.0.0.1:8042/sign-in");
    const upload = ["--cookie", "/home/admin/jar", "--form", "file=@/home/admin/AntennaPod.db"];
    expect(curl(...upload, "http://127.0.0.1:8042/account/move-in")).toContain("1 podcast will be added");
    write(SETTINGS, "");
    done(restart());
    await ready();
  });

  test("a unit that keeps the runtime's compiler off says so", async () => {
    override("MemoryDenyWriteExecute=yes");
    expect(restart().code).not.toBe(0);
    expect(journal()).toContain("remove MemoryDenyWriteExecute= and LimitAS= from the unit");
    override("");
    done(restart());
    await ready();
  });

  test("sudo podkeep doctor finds no problem", () => {
    const findings: { about: string; state: string; detail: string }[] = JSON.parse(podkeep("doctor", "--json"));
    expect(findings.filter(({ state }) => state === "problem")).toEqual([]);
    expect(JSON.stringify(findings)).toContain(DATA);
    expect(strangers()).toBe("");
  });

  const findings = () => {
    const { out } = machine.admin("sudo", "podkeep", "doctor", "--json");
    const all: { about: string; state: string; detail: string; advice: string | null }[] = JSON.parse(out);
    return all.filter(({ about }) => about === "service");
  };
  const found = () => findings().map(({ state, detail }) => [state, detail]);

  test("sudo podkeep doctor says that systemd keeps the service from data elsewhere", async () => {
    write(SETTINGS, "PODKEEP_DATA_DIR=/srv/data\n");
    done(machine.root("install", "-d", "-o", "podkeep", "-m", "700", "/srv/data"));
    expect(restart().code).not.toBe(0);
    await see(() => property("SubState") === "auto-restart");
    expect(found()).toEqual([
      ["problem", "it fails, and is started again and again (exit code 1)"],
      ["problem", "systemd keeps it from writing its data to /srv/data"],
    ]);
    write(SETTINGS, "");
    done(machine.root("rm", "-r", "/srv/data"));
    done(restart());
    await ready();
  });

  test("sudo podkeep doctor finds a service that failed, is off at boot, or can't write its backups", async () => {
    expect(found()).toEqual([["ok", "it is active, and starts at boot"]]);
    systemctl("disable", "podkeep");
    expect(found()).toEqual([["warning", "it does not start at boot (disabled)"]]);
    systemctl("enable", "podkeep");
    write(SETTINGS, "PODKEEP_BACKUP_DIR=/srv/backup\nPODKEEP_PORT=x\n");
    expect(restart().code).not.toBe(0);
    await see(() => property("ActiveState") === "failed");
    write(SETTINGS, "PODKEEP_BACKUP_DIR=/srv/backup\n");
    expect(found()).toEqual([
      ["problem", "it failed (exit code 3)"],
      ["problem", "systemd keeps it from writing backups to /srv/backup"],
    ]);
    expect(findings().at(-1)?.advice).toContain("ReadWritePaths=-/srv/backup (");
    done(machine.root("mount", "-t", "tmpfs", "none", "/srv"));
    expect(findings().at(-1)?.advice).toContain("ReadWritePaths=-/srv (");
    done(machine.root("mkdir", "-p", "/srv/backup"));
    expect(findings().at(-1)?.advice).toContain("ReadWritePaths=-/srv (");
    done(machine.root("umount", "/srv"));
    override("ReadWritePaths=-/srv");
    expect(found()).toEqual([["problem", "it failed (exit code 3)"]]);
    override("");
    write(SETTINGS, "");
    done(restart());
    await ready();
  });

  test("without polkit, service install --user warns that the service ends at logout, and names the command", async () => {
    const id = done(machine.admin("id", "-u")).trim();
    done(machine.root("loginctl", "enable-linger", "admin"));
    const socket = `/run/user/${id}/systemd/private`;
    await see(() => machine.root("test", "-S", socket).code === 0);
    // As cron does, without USER.
    const podkeepAsUser = (...words: string[]) =>
      machine.admin("env", "-u", "USER", `XDG_RUNTIME_DIR=/run/user/${id}`, "podkeep", "service", ...words, "--user");
    const { code, out, err } = podkeepAsUser("install", "--port", "8043");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("sudo loginctl enable-linger admin");
    expect(podkeepAsUser("status").code).toBe(0);
    expect(machine.admin("podkeep", "service", "status", "--user")).toMatchObject({
      code: 1,
      err: expect.stringContaining("systemd can't be asked: Failed to connect to bus"),
    });
    expect(done(machine.admin("podkeep", "user", "create", "bob"))).toContain("/home/admin/.local/share/podkeep");
    expect(done(machine.admin("podkeep", "token", "issue", "bob"))).toContain("http://127.0.0.1:8043");
    expect(podkeepAsUser("uninstall").code).toBe(0);
    expect(podkeepAsUser("status").err).toContain("podkeep service install --user installs it");
    done(machine.root("loginctl", "disable-linger", "admin"));
  });

  test("by the documented commands the data moves to another machine, with its tokens and settings", async () => {
    const settings = done(machine.root("cat", SETTINGS));
    systemctl("disable", "--now", "podkeep");
    podkeep("backup", "create", "/tmp/podkeep.db");
    done(machine.root("cp", SETTINGS, "/tmp/podkeep.env"));
    // The other machine has nothing of it.
    podkeep("service", "uninstall");
    done(machine.root("rm", "-r", DATA, SETTINGS));

    podkeep("service", "install");
    expect(status("/v1/subscriptions")).toBe(401);
    systemctl("stop", "podkeep");
    podkeep("backup", "restore", "/tmp/podkeep.db", "--yes");
    done(machine.admin("sudo", "install", "-m", "600", "/tmp/podkeep.env", SETTINGS));
    systemctl("start", "podkeep");
    await ready();
    expect(status("/v1/subscriptions")).toBe(200);
    expect(done(machine.root("cat", SETTINGS))).toBe(settings);
    expect(strangers()).toBe("");
    expect(property("UnitFileState")).toBe("enabled");
  });

  test("uninstall stops the service and keeps its data for the next install", () => {
    podkeep("service", "uninstall");
    expect(status("/readyz")).toBe(0);
    expect(machine.admin("podkeep", "service", "status").code).toBe(4);
    podkeep("service", "install");
    expect(status("/v1/subscriptions")).toBe(200);
  });
});
