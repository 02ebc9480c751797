"""What clients.sh runs: the common operations of each tool, and what they must have as their effect."""
import json
import os
import socket
import subprocess
import sys
import time

import requests
from kafka_connect import KafkaConnect
from kafka_connect_api.kafka_connect_api import Api, Cluster, Connector

URL = os.environ["CONNECT_URL"]
WORK = os.environ["WORK"]
USER = os.environ.get("CONNECT_USER")
AUTH = tuple(USER.split(":")) if USER else None


def until(what, condition, seconds=30):
    """Waits for a condition; errors of a worker that is not there yet count as false."""
    deadline = time.time() + seconds
    while True:
        try:
            if condition():
                return
        except (requests.RequestException, KeyError, IndexError):
            pass
        if time.time() > deadline:
            sys.exit(f"{what}: not within {seconds} s")
        time.sleep(0.1)


def done(tool, what):
    print(f"  {tool}: {what}")


def datagen(name, **more):
    return {"connector.class": "millrace.DatagenSource", "topic": name, "rows.per.second": "10", "tasks.max": "1", **more}


def kc(*args):
    """The command line of kafka-connect-py; what it prints as JSON."""
    options = ["--url", URL] + (["--auth", USER] if USER else [])
    out = subprocess.run([os.environ["KC"], *options, *args], capture_output=True, text=True, check=True).stdout
    if "Oops" in out or "Error" in out:
        sys.exit(f"kc {' '.join(args)}: {out}")
    return json.loads(out) if out.strip() else None


def command_line():
    tool = "kafka-connect-py"
    assert kc("info")["kafka_cluster_id"]
    classes = [p["class"] for p in kc("list-plugins")]
    assert "io.debezium.connector.postgresql.PostgresConnector" in classes
    # By its library: its command sends the configuration as a string within JSON, which no worker takes.
    checked = KafkaConnect(URL, USER).validate_connector_config("DatagenSource", {"name": "kc", **datagen("kc")})
    assert checked["error_count"] == 0, checked
    created = kc("create", "-d", json.dumps({"name": "kc", "config": datagen("kc")}))
    assert created["name"] == "kc", created
    until("kc runs", lambda: [t["state"] for t in kc("status", "kc")["tasks"]] == ["RUNNING"])
    assert kc("list") == ["kc"]
    assert kc("list", "--expand", "status")["kc"]["status"]["connector"]["state"] == "RUNNING"
    assert kc("list", "--pattern", "^k.$", "--state", "running") is not None
    updated = kc("update", "kc", "-d", json.dumps({"name": "kc", **datagen("kc"), "rows.per.second": "20"}))
    assert updated["config"]["rows.per.second"] == "20", updated
    assert kc("config", "kc")["rows.per.second"] == "20"
    assert kc("get", "kc")["name"] == "kc"
    assert kc("list-tasks", "kc")[0]["id"] == {"connector": "kc", "task": 0}
    kc("pause", "kc")
    until("kc pauses", lambda: kc("status", "kc")["connector"]["state"] == "PAUSED")
    kc("resume", "kc")
    until("kc resumes", lambda: kc("task-status", "kc", "0")["state"] == "RUNNING")
    kc("restart", "kc", "--include-tasks")
    until("kc runs again", lambda: kc("task-status", "kc", "0")["state"] == "RUNNING")
    kc("restart-task", "kc", "0")
    until("kc has written", lambda: len(kc("list-topics", "kc")["kc"]["topics"]) > 0)
    kc("reset-topics", "kc")
    kc("delete", "kc")
    assert kc("list") == []
    done(tool, "info, list-plugins, validate-config, create, status, list (expand, pattern, state), update, config, get, list-tasks,")
    done(tool, "pause, resume, task-status, restart with tasks, restart-task, list-topics, reset-topics, delete")


def library():
    tool = "kafka-connect-api"
    user, password = AUTH or (None, None)
    cluster = Cluster(Api(url=URL, username=user, password=password))
    assert cluster.version and cluster.kafka_cluster
    connector = Connector(cluster, "lib")
    try:
        assert not connector.exists()
    except Exception as error:  # it raises for a 404 in some versions
        assert "404" in repr(error) or "not found" in repr(error).lower(), repr(error)
    connector.config = {"name": "lib", **datagen("lib")}
    until("lib runs", lambda: [t.state for t in cluster.connectors["lib"].tasks] == ["RUNNING"])
    assert connector.exists() and connector.connector_class == "millrace.DatagenSource"
    connector.pause()
    until("lib pauses", lambda: connector.state == "PAUSED")
    connector.resume()
    until("lib resumes", lambda: connector.state == "RUNNING")
    connector.restart()
    connector.restart_all_tasks()
    until("lib runs again", lambda: connector.tasks[0].is_running())
    connector.cycle_connector()
    until("lib has been cycled", lambda: connector.state == "RUNNING" and connector.tasks[0].is_running())
    cluster.root_logger = "DEBUG"
    assert cluster.root_logger["level"] == "DEBUG"
    cluster.set_logger_log_level("root", "INFO")
    connector.delete()
    assert cluster.connectors == {}
    done(tool, "version, cluster id, exists, create and update by config, tasks, pause, resume, restart, restart of all tasks, cycle,")
    done(tool, "loggers, delete")


def monitor():
    tool = "kafka-connect-healthcheck"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--connect-url", URL] + (["--basic-auth", USER] if USER else [])
    process = subprocess.Popen([os.environ["HEALTHCHECK"], *options], stderr=subprocess.DEVNULL)
    health = lambda: requests.get(f"http://127.0.0.1:{port}/")
    send = lambda method, path, body=None: requests.request(method, URL + path, json=body, auth=AUTH)
    try:
        send("PUT", "/connectors/good/config", {"name": "good", **datagen("good")}).raise_for_status()
        until("healthy", lambda: health().status_code == 200 and health().json()["healthy"])
        # Fails by its first write: the file cannot be made.
        sink = {"connector.class": "FileStreamSink", "topics.regex": "good.*", "file": "/no/such/folder/out", "tasks.max": "1"}
        send("PUT", "/connectors/bad/config", {"name": "bad", **sink}).raise_for_status()
        until("unhealthy", lambda: health().status_code == 503 and any(f["connector"] == "bad" for f in health().json()["failures"]))
        send("DELETE", "/connectors/bad").raise_for_status()
        until("healthy again", lambda: health().status_code == 200)
        send("DELETE", "/connectors/good").raise_for_status()
    finally:
        process.terminate()
        process.wait()
    done(tool, "healthy with a running connector, 503 with the failed task named, healthy once it is deleted")


until("the worker is ready", lambda: requests.get(f"{URL}/health", auth=AUTH).status_code == 200, 60)
command_line()
library()
monitor()
