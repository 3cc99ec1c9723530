"""The Android side of the consumer, which the runner plays: provider calls, descriptors, UI and clock.

`Host.call` returns a `Reply` that is used in a `with` block. Leaving the block closes every descriptor
that came with the reply, so that no path, and no uninvited descriptor, leaks one (section 4.5).
"""

import base64
import binascii
import threading

import bundles
import jsonrpc


class Reply:
    """What a ContentResolver.call ended in: a Bundle, or one of the ways not to get one."""

    BUNDLE = "bundle"
    LOST = "lost"              # Binder death, time-out, null: nobody knows what the provider did
    EXCEPTION = "exception"    # the call itself was refused or failed

    def __init__(self, host, kind, bundle, detail):
        self._host = host
        self.kind = kind
        self.bundle = bundle
        self.detail = detail
        self.descriptors = bundle.descriptor_ids()
        host.opened(self.descriptors)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._host.close_all(self.descriptors)


class Host:
    """One epoch's view of the runner; after a reset a new Host takes its place."""

    def __init__(self, peer, epoch):
        self._peer = peer
        self._epoch = epoch
        self._lock = threading.Lock()
        self._open = set()

    # -- provider calls -------------------------------------------------------------------------
    def call(self, authority, method, extras):
        params = {"authority": authority, "method": method, "arg": None, "extras": extras}
        try:
            result = self._peer.request(self._epoch, "provider.call", params)
        except jsonrpc.RemoteError:
            return Reply(self, Reply.EXCEPTION, bundles.Bundle(None), "the call could not be made")
        if not isinstance(result, dict):
            return Reply(self, Reply.EXCEPTION, bundles.Bundle(None), "no reply")
        if isinstance(result.get("bundle"), dict):
            bundle = bundles.Bundle(result["bundle"])
            if bundle.is_empty():
                # An exception that Parcel cannot write arrives as an empty Bundle.
                return Reply(self, Reply.LOST, bundle, "an empty Bundle")
            return Reply(self, Reply.BUNDLE, bundle, "")
        if "exception" in result:
            exception = result["exception"]
            name = exception.get("class") if isinstance(exception, dict) else None
            lost = name in ("android.os.DeadObjectException", "android.os.RemoteException")
            kind = Reply.LOST if lost else Reply.EXCEPTION
            return Reply(self, kind, bundles.Bundle(None), "Binder death" if lost else "an exception")
        detail = "a time-out" if result.get("timeout") is True else "a null Bundle"
        return Reply(self, Reply.LOST, bundles.Bundle(None), detail)

    # -- descriptors ----------------------------------------------------------------------------
    def read_chunk(self, descriptor, max_bytes):
        """(bytes, at the end); None when reading fails."""
        try:
            result = self._peer.request(self._epoch, "fd.read", {"fd": descriptor, "max_bytes": max_bytes})
            content = base64.b64decode(result["base64"], validate=True)
            return content, result.get("eof") is True
        except (jsonrpc.RemoteError, binascii.Error, ValueError, TypeError, KeyError, AttributeError):
            return None

    def opened(self, descriptors):
        with self._lock:
            self._open.update(descriptors)

    def close_all(self, descriptors):
        for descriptor in descriptors:
            with self._lock:
                if descriptor not in self._open:
                    continue
            try:
                self._peer.request(self._epoch, "fd.close", {"fd": descriptor})
            except jsonrpc.RemoteError:
                continue                   # not closed, and observe.fds says so
            except jsonrpc.Abandoned:
                return                     # a reset took the descriptors along
            with self._lock:
                self._open.discard(descriptor)

    def open_descriptors(self):
        with self._lock:
            return len(self._open)

    # -- UI and clock ---------------------------------------------------------------------------
    def launch(self, pending_intent):
        """Start the provider's Activity and wait for its result."""
        self._peer.request(self._epoch, "ui.launch", {"pending_intent": pending_intent})

    def now(self):
        return self._time(self._peer.request(self._epoch, "clock.now", {}))

    def sleep(self, ms):
        return self._time(self._peer.request(self._epoch, "clock.sleep", {"ms": ms}))

    @staticmethod
    def _time(result):
        now = bundles.integer(result.get("now_ms")) if isinstance(result, dict) else None
        if now is None:
            raise jsonrpc.RemoteError("clock")
        return now
