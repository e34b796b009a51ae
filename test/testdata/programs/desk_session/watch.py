import os,time
seen=None
while True:
    now=os.stat("page.txt").st_mtime_ns
    if now!=seen:
        text=open("page.txt").read()
        if text.strip():
            seen=now
            open("report","w").write("pass: "+text)
            print("tested",flush=True)
    time.sleep(0.05)
