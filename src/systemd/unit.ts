// The systemd unit that runs the server, for the whole machine or for one account.
import type { Place } from "../config/service.ts";
import { escapePercent, quotePath } from "./path-list.ts";

/** The account of the system service. */
export const ACCOUNT = "podkeep";
/** The directory in /var/lib that systemd creates for ACCOUNT. */
const STATE_FOLDER = "podkeep";
export const DATA_DIRECTORY = `/var/lib/${STATE_FOLDER}`;

// MemoryDenyWriteExecute and limits of the address space would silently disable the JIT compiler.
const HARDENING = `UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
# Without AF_NETLINK the server can't learn the machine's own addresses.
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
LimitNOFILE=65536
MemoryMax=512M
# A hostile file that takes too much ends the process that reads it, not the server.
OOMPolicy=continue`;

// Options that only the system manager has.
const SYSTEM = `User=${ACCOUNT}
StateDirectory=${STATE_FOLDER}
StateDirectoryMode=0700
Environment=PODKEEP_DATA_DIR=%S/${STATE_FOLDER}
CapabilityBoundingSet=
DevicePolicy=closed
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes`;

/**
 * The text of the unit, restricted to what a server with one data directory needs.
 * @param executable absolute path of the program
 */
export function describeUnit(executable: string, { settings, isOwn }: Pick<Place, "settings" | "isOwn">): string {
  return `[Unit]
Description=podkeep, keeps podcasts and play positions in sync between apps
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
ExecStart=${quotePath(executable)} serve
EnvironmentFile=-${escapePercent(settings)}
# Also after a signal: systemd counts SIGHUP, SIGINT and SIGTERM as clean ends.
Restart=always
RestartSec=5
# Exit code 3: wrong settings, which another start doesn't correct.
RestartPreventExitStatus=3
# A large database may need a migration first.
TimeoutStartSec=15min
TimeoutStopSec=60
# The server reads its database before each sign of life.
WatchdogSec=60
# The runtime reports SIGABRT, the default, as a bug in itself.
WatchdogSignal=SIGKILL
${isOwn ? "" : `${SYSTEM}\n`}${HARDENING}

[Install]
WantedBy=${isOwn ? "default.target" : "multi-user.target"}
`;
}
