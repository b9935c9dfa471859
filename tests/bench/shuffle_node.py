# SPDX-License-Identifier: Apache-2.0
"""An nm-shuffle of a build with the outputs of some maps, and a reducer that fetches them."""
import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import zlib

JOB, KEY = "1_0001", b"8letters"
MAPS, REDUCERS = 20, 50
ATTEMPTS = [f"attempt_{JOB}_m_{number:06}_0" for number in range(MAPS)]


class Shuffle:
    """Each map has parts of PART_BYTES for all reducers."""

    def __init__(self, program, part_bytes):
        self.directory = tempfile.TemporaryDirectory(prefix="nmd-bench.")
        for attempt in ATTEMPTS:
            self.write_output(pathlib.Path(self.directory.name, f"usercache/bench/appcache/application_{JOB}/output", attempt), part_bytes)
        self.process = subprocess.Popen([program, "--listen=127.0.0.1:0", self.directory.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())["listening"]
        job = {"job": f"job_{JOB}", "user": "bench", "uid": os.geteuid(), "key": KEY.hex()}
        print(json.dumps({"add": job}), file=self.process.stdin, flush=True)
        if "ok" not in json.loads(self.process.stdout.readline()):
            raise SystemExit("nm-shuffle refused a job")
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    @staticmethod
    def write_output(directory, part_bytes):
        directory.mkdir(parents=True)
        records = b"".join(struct.pack(">3q", i * part_bytes, part_bytes, part_bytes) for i in range(REDUCERS))
        (directory / "file.out").write_bytes(bytes(part_bytes * REDUCERS))
        (directory / "file.out.index").write_bytes(records + struct.pack(">q", zlib.crc32(records)))

    def fetch(self, reducer):
        """Fetches the parts of all maps with one request, over the same connection as before."""
        target = f"/mapOutput?job=job_{JOB}&reduce={reducer}&keepAlive=true&map={','.join(ATTEMPTS)}"
        signed = base64.b64encode(hmac.digest(KEY, f"{self.port}{target}".encode(), hashlib.sha1)).decode()
        self.connection.request("GET", target, headers={"name": "mapreduce", "version": "1.0.0", "UrlHash": signed})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"nm-shuffle does not send the parts: {body.decode()}")

    def stop(self):
        self.connection.close()
        self.process.communicate()
        self.directory.cleanup()
