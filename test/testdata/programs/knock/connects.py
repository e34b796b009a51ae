# Connects to each HOST PORT, waiting for it as a plain program does and as one with
# an event loop does, and says how connect(2) ended.
import asyncio, errno, socket, sys


def said(error):
    return errno.errorcode.get(error.errno, repr(error)) if error else "connected"


async def looped(host, port):
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 20)
        writer.close()
        return None
    except OSError as e:
        return e


for host, port in zip(sys.argv[1::2], sys.argv[2::2]):
    plain = None
    try:
        socket.create_connection((host, int(port)), timeout=20).close()
    except OSError as e:
        plain = e
    print(host, port, said(plain), said(asyncio.run(looped(host, int(port)))))
