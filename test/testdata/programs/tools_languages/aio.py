import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0].decode().strip())
    loop = asyncio.get_running_loop()
    print(await loop.run_in_executor(None, lambda: "thread"))
asyncio.run(main())
