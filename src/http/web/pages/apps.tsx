// The list of apps; renaming and revoking one.
/** @jsxImportSource hono/jsx */
import type { ConnectedApp } from "../../../services/accounts/apps.ts";
import type { PageSession } from "../../../services/accounts/sessions.ts";
import type { Device } from "../../../services/devices/devices.ts";
import { fieldWith, Problem, Submit, UserForm, useTyped } from "../fields.tsx";
import { useFrame } from "../frame.ts";
import { ActionButton, ButtonLink, Layout, Named, NeedsPassword, NOTICE, Notice, Time } from "../layout.tsx";
import { texts } from "../texts.ts";

interface AppsProps {
  apps: ConnectedApp[];
  /** Devices that sync by the password. */
  byPassword: Device[];
  /** Devices whose token has ended. */
  ended: Device[];
  sessions: PageSession[];
  /** The session that looks at this. */
  sessionId: string | null;
  open: OpenRow;
  notice: string | undefined;
}

/** The row that is open for renaming or revoking, by the id of its token or device. */
export interface OpenRow {
  rename?: string | undefined;
  revoke?: string | undefined;
  device?: string | undefined;
  /** What opens the row whose name was saved, which is not open. */
  renamed?: string | undefined;
  /** The name that was refused, and why. */
  typed?: string;
  problem?: string;
}

/** What opens a row, in the page. */
const linkId = ({ rename, revoke, device }: OpenRow) =>
  rename ? `rename-${rename}` : revoke ? `revoke-${revoke}` : `device-${device}`;

/** The list, in which the cursor is at the link that opens a row. */
const listPath = (open: OpenRow) => `/apps#${linkId(open)}`;

/** The same, after the row's name was saved. */
export const renamedPath = (open: OpenRow) => `/apps?done=renamed&renamed=${linkId(open)}#${linkId(open)}`;

export function AppsPage({ apps, byPassword, ended, sessions, sessionId, open, notice }: AppsProps) {
  const text = texts.apps;
  const canChange = useFrame().byPassword;
  const isOpen = ({ id }: Device) => open.device === id || open.renamed === linkId({ device: id });
  return (
    <Layout title={text.title} section="apps">
      <div class="bar">
        <h1>{text.title}</h1>
        {canChange && (
          <ButtonLink kind="primary" href="/connect">
            {text.connect}
          </ButtonLink>
        )}
      </div>
      <Notice focused={open.renamed === undefined}>{notice}</Notice>
      {!canChange && <NeedsPassword>{text.needsPassword}</NeedsPassword>}
      {apps.length + byPassword.length === 0 && <p class="muted">{text.none}</p>}
      <ul class="rows">
        {apps.map((app) => (
          <AppRow app={app} open={open} />
        ))}
        <DeviceRows devices={byPassword} open={open} />
      </ul>
      {ended.length > 0 && (
        <details class="more" open={ended.some(isOpen)}>
          <summary>{text.ended(ended.length)}</summary>
          <ul class="rows">
            <DeviceRows devices={ended} open={open} />
          </ul>
        </details>
      )}
      {sessions.length > 0 && (
        <>
          <h2>{text.sessions}</h2>
          <p class="muted">{text.sessionsAre}</p>
          <ul class="rows">
            {sessions.map((session) => (
              <SessionRow session={session} apps={apps} here={session.id === sessionId} />
            ))}
          </ul>
        </>
      )}
    </Layout>
  );
}

function AppRow({ app, open }: { app: ConnectedApp; open: OpenRow }) {
  const text = texts.apps;
  const canChange = useFrame().byPassword;
  const { id, label, scope, products, created_at, expires_at, last_used_at, devices } = app;
  const name = label || text.noLabel;
  const kinds = products.filter((product) => !name.toLowerCase().startsWith(product.toLowerCase()));
  return (
    <li>
      <div class="grow wide">
        <div class="title">
          <bdi>{name}</bdi>
        </div>
        <div class="muted small">
          {[...kinds, ...(scope === "read" ? [text.readOnly] : [])].map((part) => `${part} · `)}
          {devices.length === 0 && (
            <>{last_used_at === null ? text.neverUsed : <TimeOf label={text.lastUsed} ms={last_used_at} />} · </>
          )}
          <TimeOf label={text.created} ms={created_at} format="day" />
          {expires_at !== null && (
            <>
              {" "}
              · <TimeOf label={text.expires} ms={expires_at} format="day" />
            </>
          )}
        </div>
      </div>
      {canChange && open.rename === id && (
        <Rename action={`/apps/${id}/rename`} field="label" value={label} label={text.deviceName(name)} open={open} />
      )}
      {canChange && open.revoke === id && (
        <div class="bar">
          <span>
            <Named text={text.revokeAsk} name={name} />
          </span>
          <ActionButton action={`/apps/${id}/revoke`} kind="danger">
            {text.revoke}
          </ActionButton>
          <Cancel open={open} autofocus />
        </div>
      )}
      {canChange && open.rename !== id && open.revoke !== id && (
        <div class="bar">
          <RenameLink row={{ rename: id }} name={name} open={open} />
          <ButtonLink href={`/apps?revoke=${id}`} id={linkId({ revoke: id })} aria-label={text.revokeNamed(name)}>
            {text.revoke}
          </ButtonLink>
        </div>
      )}
      {devices.length > 0 && (
        <ul class="rows inner">
          <DeviceRows devices={devices} open={open} />
        </ul>
      )}
    </li>
  );
}

function TimeOf({ label, ms, format }: { label: string; ms: number; format?: "day" }) {
  return (
    <>
      {label} <Time ms={ms} {...(format && { format })} />
    </>
  );
}

function RenameLink({
  row,
  name,
  open,
}: {
  row: { rename: string } | { device: string };
  name: string;
  open: OpenRow;
}) {
  const id = linkId(row);
  return (
    <ButtonLink
      href={`/apps?${new URLSearchParams(row)}`}
      id={id}
      aria-label={texts.apps.renameNamed(name)}
      aria-describedby={open.renamed === id ? NOTICE : undefined}
    >
      {texts.apps.rename}
    </ButtonLink>
  );
}

const Cancel = ({ open, autofocus = false }: { open: OpenRow; autofocus?: boolean }) => (
  <ButtonLink href={listPath(open)} autofocus={autofocus}>
    {texts.cancel}
  </ButtonLink>
);

interface RenameProps {
  action: string;
  field: "label" | "caption";
  value: string;
  label: string;
  open: OpenRow;
}

function Rename({ action, field, value, label, open }: RenameProps) {
  const { typed = value, problem } = open;
  return (
    <UserForm action={action} class="bar">
      <Problem>{problem}</Problem>
      <input
        name={field}
        value={useTyped(field, typed)}
        maxlength={100}
        required
        {...fieldWith(problem)}
        autofocus
        aria-label={label}
      />
      <Submit>{texts.apps.save}</Submit>
      <Cancel open={open} />
    </UserForm>
  );
}

const DeviceRows = ({ devices, open }: { devices: Device[]; open: OpenRow }) => (
  <>
    {devices.map((device) => (
      <DeviceRow device={device} open={open} />
    ))}
  </>
);

function DeviceRow({ device, open }: { device: Device; open: OpenRow }) {
  const text = texts.apps;
  const { canWrite } = useFrame();
  const { id, caption, type, created_at, last_sync_at } = device;
  const action = `/apps/devices/${id}/rename`;
  return (
    <li>
      <div class="grow wide">
        <div class="title">
          <bdi>{caption}</bdi>
        </div>
        <div class="muted small">
          {text.devices[type]} ·{" "}
          {last_sync_at === null ? text.never : <TimeOf label={text.lastSync} ms={last_sync_at} />} ·{" "}
          <TimeOf label={text.created} ms={created_at} format="day" />
        </div>
      </div>
      {canWrite && open.device === id && (
        <Rename action={action} field="caption" value={caption} label={text.deviceName(caption)} open={open} />
      )}
      {canWrite && open.device !== id && (
        <div class="bar">
          <RenameLink row={{ device: id }} name={caption} open={open} />
          <ActionButton action={`/apps/devices/${id}/forget`} label={text.forgetNamed(caption)}>
            {text.forget}
          </ActionButton>
        </div>
      )}
    </li>
  );
}

function SessionRow({ session, apps, here }: { session: PageSession; apps: ConnectedApp[]; here: boolean }) {
  const text = texts.apps;
  const { id, browser, token_id, created_at, seen_at } = session;
  const known = browser || text.unknownBrowser;
  const name = here ? `${known} (${text.thisBrowser})` : known;
  const token = apps.find((app) => app.id === token_id);
  return (
    <li>
      <div class="grow">
        <div class="title">{name}</div>
        <div class="muted small" id={`session-${id}`}>
          {text.signedIn} <Time ms={created_at} /> · {text.lastSeen} <Time ms={seen_at} />
          {token && (
            <>
              {" "}
              · <Named text={text.byToken} name={token.label || text.noLabel} />
            </>
          )}
        </div>
      </div>
      <ActionButton action={`/apps/sessions/${id}/end`} label={text.endSession(name)} of={`session-${id}`}>
        {text.end}
      </ActionButton>
    </li>
  );
}
