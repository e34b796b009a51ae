import asyncio, socket, subprocess, multiprocessing.connection
async def main():
    async def echo(r, w):
        w.write(await r.read(4)); await w.drain(); w.close()
    s = await asyncio.start_server(echo, "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
    w.write(b"ping"); await w.drain()
    assert await r.read(4) == b"ping"
    p = await asyncio.create_subprocess_exec("true")
    assert await p.wait() == 0
    s.close()
asyncio.run(main())
socket.getaddrinfo("localhost", 80)
