"""gPodder's own sync engine, without its windows: reads steps as JSON, prints what it received.

Usage: gpodder_engine.py HOME SERVER USER PASSWORD DEVICE STEPS
A step is ["subscribe", URL], ["unsubscribe", URL], ["play", PODCAST, EPISODE, POSITION, TOTAL], ["close"]: what is
accepted stays queued until the next run, or ["cancel"]: nothing of what is received is accepted.
"""
import json
import os
import sys

home, server, user, password, device, steps = sys.argv[1:]
os.environ["GPODDER_HOME"] = home
os.makedirs(home, exist_ok=True)

import gpodder

gpodder.ui.cli = True
gpodder.images_folder = "/usr/share/gpodder/images"
gpodder.prefix = "/usr"
from gpodder import core, my

main = core.Core()
mygpo = main.config.mygpo
mygpo.enabled = True
mygpo.server = server
mygpo.username = user
mygpo.password = password
mygpo.device.uid = device
mygpo.device.caption = device
client = my.MygPoClient(main.config)
client.flush = lambda *args, **kwargs: None


class Thing:
    def __init__(self, **values):
        self.__dict__.update(values)


client.create_device()
closes = cancels = False
for step, *values in json.loads(steps):
    if step == "subscribe":
        client.on_subscribe(values)
    elif step == "unsubscribe":
        client.on_unsubscribe(values)
    elif step == "close":
        closes = True
    elif step == "cancel":
        cancels = True
    elif step == "play":
        podcast, episode, position, total = values
        channel = Thing(url=podcast)
        client.on_playback_full(Thing(channel=channel, url=episode, guid=""), 0, position, total)
client._worker_proc(forced=True)
actions = list(client.get_received_actions())
received = [[action.is_add, action.url] for action in actions]
# gtkui/main.py, execute_podcast_actions: what is accepted in the dialog of received changes is posted back.
if cancels:
    client.reject_received_actions(actions)
else:
    client.confirm_received_actions(actions)
    for action in actions:
        (client.on_subscribe if action.is_add else client.on_unsubscribe)([action.url])
plays = [
    [action.podcast_url, action.episode_url, action.position, action.total]
    for action in client._store.load(my.ReceivedEpisodeAction)
    if action.action == "play"
]
if not closes:
    client._worker_proc(forced=True)
print(json.dumps({"received": received, "plays": plays, "enabled": bool(mygpo.enabled)}))
sys.stdout.flush()
client._store.commit()
client._store.close()
os._exit(0)
