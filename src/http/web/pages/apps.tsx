// Apps: the list, revoking one, connecting one.
/** @jsxImportSource hono/jsx */
import { raw } from "hono/html";
import { renderSVG } from "uqr";
import type { ConnectedApp, Device } from "../../../services/apps.ts";
import type { ConnectValues } from "../../../services/connect-links.ts";
import type { PageSession } from "../../../services/sessions.ts";
import { ActionButton, Copyable, Layout, NeedsPassword, Time } from "../layout.tsx";
import { type AppKind, steps, texts } from "../texts.ts";

interface AppsProps {
  apps: ConnectedApp[];
  /** Devices that sync by the password. */
  byPassword: Device[];
  sessions: PageSession[];
  /** The session that looks at this. */
  sessionId: string | null;
  /** True if this session may connect, rename and revoke apps, and end sessions. */
  canChange: boolean;
  canWrite: boolean;
}

export function AppsPage({ apps, byPassword, sessions, sessionId, canChange, canWrite }: AppsProps) {
  const text = texts.apps;
  return (
    <Layout title={text.title} section="apps">
      <div class="bar">
        <h1>{text.title}</h1>
        {canChange && (
          <a class="button primary" href="/connect">
            {text.connect}
          </a>
        )}
      </div>
      {!canChange && <NeedsPassword>{text.needsPassword}</NeedsPassword>}
      {apps.length + byPassword.length === 0 && <p class="muted">{text.none}</p>}
      <ul class="rows">
        {apps.map((app) => (
          <AppRow app={app} canChange={canChange} canWrite={canWrite} />
        ))}
        {byPassword.map((device) => (
          <li>
            <DeviceInfo device={device} canWrite={canWrite} />
          </li>
        ))}
      </ul>
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

function LastSync({ at }: { at: number | null }) {
  const text = texts.apps;
  if (at === null) return <>{text.never}</>;
  return (
    <>
      {text.lastSync} <Time ms={at} />
    </>
  );
}

function AppRow({ app, canChange, canWrite }: { app: ConnectedApp; canChange: boolean; canWrite: boolean }) {
  const text = texts.apps;
  const { id, label, scope, products, created_at, expires_at, last_used_at, devices } = app;
  const name = label || text.noLabel;
  const kind = products.join(", ") || text.kind;
  return (
    <li>
      <div class="grow wide">
        <div class="title">{name}</div>
        <div class="muted small">
          {scope === "read" ? `${kind}, ${text.readOnly}` : kind} · <LastSync at={last_used_at} /> · {text.created}{" "}
          <Time ms={created_at} format="day" />
          {expires_at !== null && (
            <>
              {" "}
              · {text.expires} <Time ms={expires_at} format="day" />
            </>
          )}
        </div>
      </div>
      {canChange && (
        <>
          <Rename action={`/apps/${id}/rename`} field="label" value={label} label={text.deviceName(name)} />
          <details class="ask">
            <summary>{text.revoke}</summary>
            <div class="bar">
              <span>{text.revokeAsk(name)}</span>
              <ActionButton action={`/apps/${id}/revoke`} kind="danger">
                {text.revoke}
              </ActionButton>
            </div>
          </details>
        </>
      )}
      {devices.length > 0 && (
        <ul class="rows inner">
          {devices.map((device) => (
            <li>
              <DeviceInfo device={device} canWrite={canWrite} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function Rename({ action, field, value, label }: { action: string; field: string; value: string; label: string }) {
  const text = texts.apps;
  return (
    <details class="ask">
      <summary>{text.rename}</summary>
      <form method="post" action={action} class="bar">
        <input name={field} value={value} maxlength={100} required aria-label={label} />
        <button type="submit">{text.save}</button>
      </form>
    </details>
  );
}

function DeviceInfo({ device, canWrite }: { device: Device; canWrite: boolean }) {
  const text = texts.apps;
  const { id, caption, type, created_at, last_sync_at } = device;
  return (
    <>
      <div class="grow wide">
        <div class="title">{caption}</div>
        <div class="muted small">
          {text.devices[type]} · <LastSync at={last_sync_at} /> · {text.created} <Time ms={created_at} format="day" />
        </div>
      </div>
      {canWrite && (
        <>
          <Rename
            action={`/apps/devices/${id}/rename`}
            field="caption"
            value={caption}
            label={text.deviceName(caption)}
          />
          <ActionButton action={`/apps/devices/${id}/forget`}>{text.forget}</ActionButton>
        </>
      )}
    </>
  );
}

function SessionRow({ session, apps, here }: { session: PageSession; apps: ConnectedApp[]; here: boolean }) {
  const text = texts.apps;
  const { id, browser, token_id, created_at, seen_at } = session;
  const name = browser || text.unknownBrowser;
  const token = apps.find((app) => app.id === token_id);
  return (
    <li>
      <div class="grow">
        <div class="title">{here ? `${name} (${text.thisBrowser})` : name}</div>
        <div class="muted small">
          {text.signedIn} <Time ms={created_at} /> · {text.lastSeen} <Time ms={seen_at} />
          {token && ` · ${text.byToken(token.label || text.noLabel)}`}
        </div>
      </div>
      <form method="post" action={`/apps/sessions/${id}/end`}>
        <button type="submit" aria-label={text.endSession(name)}>
          {text.end}
        </button>
      </form>
    </li>
  );
}

interface ConnectProps {
  /** Makes the form's effect happen once. */
  nonce: string;
  /** The URL that apps connect to. */
  server: string;
  /** Why no phone reaches it; null if phones do. */
  noPhone: string | null;
}

/** First the way without typing a token. */
export function ConnectPage({ nonce, server, noPhone }: ConnectProps) {
  const text = texts.connect;
  return (
    <Layout title={text.title} section="apps">
      <h1>{text.title}</h1>
      {noPhone && <p class="notice">{noPhone}</p>}
      <h2>{text.antennapod}</h2>
      <ol class="steps">
        <li>{text.choosesNextcloud}</li>
        <li>
          {text.entersServer}
          <div class="value">
            <Copyable text={server} />
          </div>
        </li>
        <li>{text.allows}</li>
      </ol>
      <h2>{text.others}</h2>
      <form method="post" action="/connect">
        <input type="hidden" name="nonce" value={nonce} />
        <div class="field">
          <label for="app">{text.choose}</label>
          <select id="app" name="app">
            {Object.entries(text.apps).map(([kind, name]) => (
              <option value={kind}>{name}</option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="device">{text.device}</label>
          <input id="device" name="device" maxlength={60} />
        </div>
        <button type="submit" class="primary">
          {text.submit}
        </button>{" "}
        <a class="button" href="/apps">
          {texts.cancel}
        </a>
      </form>
    </Layout>
  );
}

interface ConnectedProps {
  kind: AppKind;
  values: ConnectValues;
  /** Opens these values on a phone; null on the phone itself, and if no phone reaches the server. */
  link: string | null;
  /** The address that the server listens on; null on the phone. */
  host?: string | null;
}

export function ConnectedPage({ kind, values, link, host = null }: ConnectedProps) {
  const text = texts.connect;
  return (
    <Layout title={text.done(text.apps[kind])} section={host === null ? null : "apps"}>
      <h1>{text.done(text.apps[kind])}</h1>
      <p class="muted">{text.once}</p>
      <ol class="steps">
        {steps[kind].map(({ text: step, fields = [] }) => (
          <li>
            {step}
            {fields.map(([name, value]) => (
              <div class="value">
                <span class="muted">{name}</span> <Copyable text={values[value]} />
              </div>
            ))}
          </li>
        ))}
      </ol>
      {host !== null && link === null && <p class="notice">{text.noPhone(host)}</p>}
      {link && (
        <>
          <h2>{text.scan}</h2>
          <p class="muted">{text.scanOnce}</p>
          <div class="qr" role="img" aria-label={text.scan}>
            {raw(renderSVG(link))}
          </div>
          <p>
            <Copyable text={link} />
          </p>
          <details class="more">
            <summary>{text.scanValues}</summary>
            <div class="qr" role="img" aria-label={text.scanValues}>
              {raw(renderSVG(`${values.server}\n${values.user}\n${values.token}`))}
            </div>
          </details>
        </>
      )}
      {host !== null && (
        <p>
          <a href="/apps">{text.back}</a>
        </p>
      )}
    </Layout>
  );
}

/** The page behind the code on the phone; a button takes the values. */
export function OpenLinkPage({ known }: { known: boolean }) {
  const text = texts.connect;
  return (
    <Layout title={text.title}>
      <h1>{text.title}</h1>
      {known ? (
        <>
          <p>{text.openOnce}</p>
          <form method="post">
            <button type="submit" class="primary">
              {text.open}
            </button>
          </form>
        </>
      ) : (
        <p>{text.expired}</p>
      )}
    </Layout>
  );
}
