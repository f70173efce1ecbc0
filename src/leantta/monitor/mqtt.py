"""What a watch sees, for MQTT; Home Assistant finds it by itself. Needs the extra `mqtt` (paho).

TOPIC/state    {"label": ..., "probability": ..., "shift": ..., "drift": "ON" or "OFF"}   after each input
TOPIC/event    an alarm or a recovery, as in the log
TOPIC/online   online or offline (the broker says so when we are gone)
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from leantta.errors import SettingError, StorageError

DISCOVERY = "homeassistant"


class Mqtt:
    """A connection to a broker; `HOST` or `HOST:PORT`, and a user's name and password before it if needed."""

    def __init__(self, address: str, topic: str, model: str) -> None:
        """Connect, and announce what there is to see.

        Raises:
            ModuleNotFoundError: paho is not installed (the command line says which extra brings it).
            SettingError: the address or the topic is none.
            StorageError: the broker does not answer.
        """
        from paho.mqtt import client as paho
        from paho.mqtt.enums import CallbackAPIVersion

        match = re.fullmatch(
            r"(?:(?P<user>[^:@]+)(?::(?P<password>[^@]*))?@)?(?P<host>[^:@/]+)(?::(?P<port>\d+))?", address
        )
        if match is None:
            raise SettingError(
                f"an address of MQTT is HOST, HOST:PORT or USER:PASSWORD@HOST, got {address!r}"
            )
        if not re.fullmatch(r"[\w./-]+", topic):
            raise SettingError(f"a topic has letters, digits and . / _ -, got {topic!r}")
        self.topic = topic
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        if match["user"]:
            self._client.username_pw_set(match["user"], match["password"])
        self._client.will_set(f"{topic}/online", "offline", retain=True)
        try:
            self._client.connect(match["host"], int(match["port"] or 1883))
        except OSError as e:
            raise StorageError(f"no broker of MQTT answers at {match['host']}: {e}. Is it running?") from e
        self._client.loop_start()
        self._publish(f"{topic}/online", "online", retain=True)
        for kind, name, config in _discovered(topic, model):
            place = f"{DISCOVERY}/{kind}/{re.sub(r'[^a-zA-Z0-9_-]', '_', topic)}/{name}/config"
            self._publish(place, json.dumps(config), retain=True)

    def state(self, label: str, probability: float, shift: float, *, drift: bool) -> None:
        """Tell what was said of an input, and whether there is an alarm."""
        told = {
            "label": label,
            "probability": round(probability, 4),
            "shift": round(shift, 4),
            "drift": "ON" if drift else "OFF",
        }
        self._publish(f"{self.topic}/state", json.dumps(told))

    def event(self, told: Mapping[str, Any]) -> None:
        """Tell what has begun or ended."""
        self._publish(f"{self.topic}/event", json.dumps(told))

    def close(self) -> None:
        """Say good-bye, when all has been sent."""
        self._publish(f"{self.topic}/online", "offline", retain=True)
        self._client.loop_stop()
        self._client.disconnect()

    def _publish(self, topic: str, content: str, *, retain: bool = False) -> None:
        sent = self._client.publish(topic, content, qos=1, retain=retain)
        if retain:  # what is kept by the broker is waited for; the rest goes when there is a connection
            sent.wait_for_publish(timeout=5)


def _discovered(topic: str, model: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return what Home Assistant is told of each thing to see: its kind, name and configuration."""
    common = {
        "state_topic": f"{topic}/state",
        "availability_topic": f"{topic}/online",
        "device": {"identifiers": [topic], "name": topic, "manufacturer": "LeanTTA", "model": model},
    }

    def thing(name: str, more: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "name": name,
            "unique_id": f"{topic}/{name}",
            "value_template": f"{{{{ value_json.{name} }}}}",
            **common,
            **more,
        }

    return [
        ("binary_sensor", "drift", thing("drift", {"device_class": "problem"})),
        ("sensor", "shift", thing("shift", {"state_class": "measurement"})),
        ("sensor", "label", thing("label", {})),
    ]
