"""mygpoclient: runs calls given as JSON, prints their results.

Usage: mygpo_calls.py SERVER USER PASSWORD CALLS
A call is [METHOD, ARGUMENTS...] of mygpoclient.api.MygPodderClient.
"""
import json
import sys

from mygpoclient import api

server, user, password, calls = sys.argv[1:]
client = api.MygPodderClient(user, password, server)


def plain(value):
    if hasattr(value, "__dict__"):
        return {name: plain(one) for name, one in vars(value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def run(method, arguments):
    if method == "upload_episode_actions":
        arguments = [[api.EpisodeAction(**action) for action in arguments[0]]]
    try:
        return plain(getattr(client, method)(*arguments))
    except Exception as error:
        return {"error": type(error).__name__}


print(json.dumps([run(method, arguments) for method, *arguments in json.loads(calls)]))
