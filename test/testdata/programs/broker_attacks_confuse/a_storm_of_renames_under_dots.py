os.mkdir('d'); os.makedirs('/tmp/storm'); stop = time.time() + 12
storm = 'import os,time\nos.chdir("/tmp/storm")\nopen("%d","w").close()\nwhile time.time() < %f:\n  for i in range(500): os.rename("%d","r%d"); os.rename("r%d","%d")\n'
ps = [subprocess.Popen(['python3', '-c', storm % (i, stop, i, i, i, i)]) for i in range(2)]
dots = 'import os,time\nn=0\nwhile time.time() < %f:\n  try: os.unlink("d/../" * 810 + "nothing")\n  except OSError: n += 1\n' % stop
ps += [subprocess.Popen(['python3', '-c', dots]) for i in range(6)]
time.sleep(1.5); worst = 0
for i in range(5):
    s = time.time(); os.mkdir('m%d' % i); worst = max(worst, time.time() - s); time.sleep(0.1)
say('SLOW %.1f' % worst if worst > 3 else 'fine %.3f' % worst); [p.kill() for p in ps]; [p.wait() for p in ps]
