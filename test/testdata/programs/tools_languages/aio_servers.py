import asyncio
async def serve(r, w):
    w.write(await r.readline()); await w.drain(); w.close()
async def main():
    for host in ("127.0.0.1", "::1", "localhost"):
        s = await asyncio.start_server(serve, host, 0)
        port = s.sockets[0].getsockname()[1]
        r, w = await asyncio.open_connection(host, port)
        w.write(b"ping\n"); print((await r.readline()).decode().strip(), host)
        s.close()
asyncio.run(main())
