# Each part is one way to leave a repository "sub" of which git outside runs $PWN. The
# words e, head, evil, hook and own are born_prelude.bash's.
#= tar
evil t/.git; tar cf a.tar t; mkdir sub; tar xf a.tar --strip-components=1 -C sub
#= tar, configuration last
evil t/.git; tar cf a.tar -C t .git/HEAD .git/objects .git/refs .git/config; mkdir sub; tar xf a.tar -C sub
#= tar, configuration first
evil t/.git; tar cf a.tar -C t .git/config .git/refs .git/objects .git/HEAD; mkdir sub; tar xf a.tar -C sub
#= zip
evil t/.git; touch t/.git/refs/x t/.git/objects/x; (cd t; python3 -m zipfile -c ../a.zip .git); mkdir sub; python3 -m zipfile -e a.zip sub
#= shutil
evil t/.git; mkdir sub; python3 -c 'import shutil; shutil.copytree("t/.git", "sub/.git", copy_function=shutil.copyfile)'
#= copied with links
evil t/.git; cp -al t sub || cp -a t sub
#= moved, copied, moved
evil t/.git; python3 -c 'import os; os.replace("t/.git", "t/x")'; cp -a t sub; mv -T sub/x sub/.git
#= dd
git init -q sub; e | dd of=sub/.git/config conv=notrunc oflag=append 2> /dev/null
#= tee
git init -q sub; e | tee -a sub/.git/config
#= install
git init -q sub; e > c; install -m 644 c sub/.git/config
#= copy_file_range
git init -q sub; e > c; py 'a=os.open("c",0); b=os.open("sub/.git/config",1|os.O_TRUNC); os.copy_file_range(a,b,9999)'
#= splice
git init -q sub; e > c; py 'r,w=os.pipe(); os.write(w,open("c","rb").read()); b=os.open("sub/.git/config",1|os.O_TRUNC); os.splice(r,b,9999)'
#= pwritev
git init -q sub; e > c; py 'b=os.open("sub/.git/config",1|os.O_TRUNC); os.pwritev(b,[open("c","rb").read()],0)'
#= mapped before the name
git init -q sub; e > c; e > d; tr -c '\n' '#' < d > c; py 'import mmap; f=os.open("c",2); m=mmap.mmap(f,0); os.close(f); os.rename("c","sub/.git/config"); m[:]=open("d","rb").read()'
#= mapped, directory moved
head t; e > d; tr -c '\n' '#' < d > t/config; mkdir sub; py 'import mmap; f=os.open("t/config",2); m=mmap.mmap(f,0); os.close(f); os.rename("t","sub/.git"); m[:]=open("d","rb").read()'
#= a descriptor handed to another process
git init -q sub; e > d; : > c; py 'import socket,time
a,b=socket.socketpair()
if os.fork()==0:
  f=socket.recv_fds(b,1,1)[1][0]; time.sleep(.2); os.write(f,open("d","rb").read()); os._exit(0)
f=os.open("c",1); socket.send_fds(a,[b"x"],[f]); os.close(f); os.rename("c","sub/.git/config"); os.wait()'
#= a descriptor of a directory
mkdir t; head t; e > d; mkdir sub; py 'D=os.open("t",0); os.rename("t","sub/.git"); f=os.open("config",65,0o644,dir_fd=D); os.write(f,open("d","rb").read())'
#= working directory moved
head t; mkdir sub; (cd t; mv ../t ../sub/.git; e > config)
#= renamed by descriptors
git init -q sub; e > c; py 'D=os.open("sub/.git",os.O_PATH); E=os.open(".",os.O_PATH); os.rename("c","config",src_dir_fd=E,dst_dir_fd=D)'
#= through the process's root
git init -q sub; e > /proc/$$/root$PWD/sub/.git/config
#= through the working directory of another
git init -q sub; (cd sub/.git; exec sleep 1) & sleep .1; e > /proc/$!/cwd/config
#= through a descriptor's directory
git init -q sub; exec 3< sub/.git; e > /proc/self/fd/3/config || e > /proc/$$/fd/3/config
#= by a path descriptor
git init -q sub; e > d; py 'f=os.open("sub/.git/config",os.O_PATH); g=os.open("/proc/self/fd/%d"%f,1|os.O_TRUNC); os.write(g,open("d","rb").read())'
#= through a link to the directory
mkdir sub; ln -s sub l; evil l/.git
#= through a link to the git directory
git init -q sub; ln -s sub/.git l; e > l/config
#= a link as git directory
evil t; mkdir sub; ln -s ../t sub/.git
#= a link as git directory, turned
git init -q o; git init -q sub; mv sub/.git sub/g; ln -s ../o/.git sub/.git; evil t; ln -sfn ../t sub/.git
#= a link first
mkdir sub; ln -s ../t sub/.git; evil t
#= trailing slashes
evil t; mkdir sub; mv -T t/ sub//./.git/
#= over an empty directory
evil t; mkdir -p sub/.git; mv -T t sub/.git
#= objects are a program
mkdir b sub; e > b/config; echo 'ref: refs/heads/main' > b/HEAD; : > b/objects; mkdir b/refs; chmod +x b/objects; echo 'gitdir: ../b' > sub/.git
#= references are a program
mkdir b sub; e > b/config; echo 'ref: refs/heads/main' > b/HEAD; : > b/refs; mkdir b/objects; echo 'gitdir: ../b' > sub/.git; chmod +x b/refs
#= both are programs
mkdir b sub; e > b/config; : > b/refs; : > b/objects; chmod +x b/*s; echo 'gitdir: ../b' > sub/.git; echo 'ref: refs/heads/main' > b/HEAD
#= a detached head
mkdir -p b/objects b/refs sub; e > b/config; git rev-parse HEAD > b/HEAD; echo 'gitdir: ../b' > sub/.git
#= a head without a blank
mkdir -p b/objects b/refs sub; e > b/config; echo 'ref:refs/heads/main' > b/HEAD; echo 'gitdir: ../b' > sub/.git
#= a head that is a link
mkdir -p b/objects b/refs sub; e > b/config; ln -s refs/heads/main b/HEAD; echo 'gitdir: ../b' > sub/.git
#= references that are a link
mkdir -p b/objects r sub; e > b/config; ln -s ../r b/refs; echo 'ref: refs/heads/main' > b/HEAD; echo 'gitdir: ../b' > sub/.git
#= directories moved in by exchange
mkdir -p b/objects o sub; e > b/config; echo 'ref: refs/heads/main' > b/HEAD; : > b/refs; echo 'gitdir: ../b' > sub/.git; xchg o b/refs
#= the head exchanged
mkdir -p b/objects b/refs/x sub; e > b/config; mkdir b/HEAD; echo 'ref: refs/heads/main' > h; echo 'gitdir: ../b' > sub/.git; xchg h b/HEAD
#= a pointer with a carriage return
mkdir sub; evil b; printf 'gitdir: ../b\r\n' > sub/.git
#= a pointer that ends in NUL
mkdir sub; evil b; git init -q ok; printf 'gitdir: ../b\0/../ok/.git\n' > sub/.git
#= a pointer of two lines
mkdir sub; evil $'b\nok'; mkdir b; printf 'gitdir: ../b\nok\n' > sub/.git
#= a pointer with a blank at its end
mkdir sub; evil 'b '; git init -q --bare b; printf 'gitdir: ../b ' > sub/.git
#= a pointer without an end
mkdir sub; evil b; printf 'gitdir: ../b' > sub/.git
#= a pointer by the process's directory
mkdir sub; evil b; echo "gitdir: /proc/self/cwd/../b" > sub/.git
#= a pointer through a link made later
mkdir -p sub x; git init -q --bare x/b; ln -s x l; echo 'gitdir: ../l/b' > sub/.git; mkdir y; evil y/b; ln -sfn y l
#= a pointer by a directory that is exchanged
mkdir -p sub x y; git init -q --bare x/b; git -C x/b config core.bare false; echo 'gitdir: ../x/b' > sub/.git; evil y/b; xchg x y
#= a pointer's directory replaced
mkdir sub; git init -q --bare b; echo 'gitdir: ../b' > sub/.git; rm -rf b; evil t; mv t b
#= a pointer long before
mkdir sub; echo 'gitdir: ../a/b/c/d' > sub/.git; mkdir -p a/b; evil t/d; mv t a/b/c
#= a common directory that ends in NUL
mkdir -p p/objects p/refs b sub; git init -q ok; e > p/config; echo 'ref: refs/heads/main' > b/HEAD; printf '../p\0' > b/commondir; echo 'gitdir: ../b' > sub/.git
#= a common directory with a carriage return
mkdir -p p/objects p/refs b sub; e > p/config; echo 'ref: refs/heads/main' > b/HEAD; printf '../p\r\n' > b/commondir; echo 'gitdir: ../b' > sub/.git
#= a byte order mark
git init -q sub; (printf '\357\273\277'; e) > c; mv c sub/.git/config
#= NUL in a comment
git init -q sub; (printf '# \0\n'; e) > c; mv c sub/.git/config
#= carriage returns
git init -q sub; e | sed 's/$/\r/' > c; mv c sub/.git/config
#= all in one line
git init -q sub; printf '[core]repositoryformatversion=0\n[core]fsmonitor="touch %s;false"' $PWN > c; mv c sub/.git/config
#= capitals
git init -q sub; printf '[user]\n name = a ; \\\n[CORE]\n\tFsMonitor = touch %s\\;false\n' $PWN | sed 's/\\;/";"/' > c; mv c sub/.git/config
#= a continued line
git init -q sub; printf '[core]\n\tfsmonitor = tou\\\nch %s\n' $PWN > c; mv c sub/.git/config
#= a very long comment before it
git init -q sub; (yes '# nothing to see' | head -c 3000000; echo; e) > c; mv c sub/.git/config
#= a subsection of the old form
git init -q sub; own sub; printf '[filter.x]\n\tclean = touch %s; cat\n' $PWN >> sub/.git/config; echo '* filter=x' > sub/.gitattributes; touch sub/f
#= a quoted subsection
git init -q sub; own sub; printf '[filter "x\\"y"]\n\tprocess = touch %s\n[filter "a"]\n\tclean = touch %s; cat\n' $PWN $PWN >> sub/.git/config; echo '* filter=a' > sub/.gitattributes; touch sub/f
#= a worktree's configuration of its own
git init -q sub; own sub; git -C sub worktree add -q ../w; git -C sub config extensions.worktreeConfig true; e > sub/.git/worktrees/w/config.worktree; echo w > look
#= a module of a module
git init -q sub; own sub; mkdir sub/d; evil sub/.git/modules/d/modules/e; echo 'gitdir: ../.git/modules/d/modules/e' > sub/d/.git; git -C sub update-index --add --cacheinfo 160000,$(git rev-parse HEAD),d
#= a separate directory
git init -q --separate-git-dir=$PWD/sep sub; e >> sep/config
#= a repository without configuration, which gets one
git init -q sub; rm sub/.git/config; (umask 0; e > sub/.git/config)
#= a hook moved in
git init -q sub; own sub; hook h; mv h sub/.git/hooks/post-index-change
#= a hook of a sample
git init -q sub; own sub; hook sub/.git/hooks/post-index-change.sample; mv sub/.git/hooks/post-index-change.sample sub/.git/hooks/post-index-change
#= a hook linked to a sample
git init -q sub; own sub; hook sub/.git/hooks/x.sample; ln sub/.git/hooks/x.sample sub/.git/hooks/post-index-change
#= hooks moved in
git init -q sub; own sub; mkdir t; hook t/post-index-change; rm -rf sub/.git/hooks; mv t sub/.git/hooks
#= hooks exchanged
git init -q sub; own sub; mkdir t; hook t/post-index-change; xchg t sub/.git/hooks
#= hooks of a template
mkdir -p t/hooks; hook t/hooks/post-index-change; git init -q --template=t sub; own sub
#= a hook that is a link
git init -q sub; own sub; hook h; ln -s ../../../h sub/.git/hooks/post-index-change
#= hooks that are a link
git init -q sub; own sub; mkdir t; hook t/post-index-change; rm -rf sub/.git/hooks; ln -s ../../t sub/.git/hooks
#= a hook before the repository
mkdir -p sub/x/hooks; hook sub/x/hooks/post-index-change; git init -q t; own t; cp -r t/.git/[!h]* sub/x; mv sub/x sub/.git; cp t/f sub
#= a hook, the head last
mkdir -p b/hooks sub; hook b/hooks/post-index-change; git init -q sub; own sub; cp -r sub/.git/[!hH]* b; cp sub/.git/HEAD b; rm -rf sub/.git; echo 'gitdir: ../b' > sub/.git
#= a hook made executable later
git init -q sub; own sub; hook h; chmod -x h; cat h > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/post-index-change
#= a hook without a name
git init -q sub; own sub; hook h; py 'f=os.open("sub/.git/hooks",os.O_TMPFILE|2,0o755); os.write(f,open("h","rb").read()); L.linkat(-100,b"/proc/self/fd/%d"%f,-100,b"sub/.git/hooks/post-index-change",0x400)'
#= the vendored one without its name
rm -rf vendor; evil t/.git; mv t vendor; touch vendored
#= the vendored one by a pointer
rm -rf vendor; mkdir vendor; evil v; echo 'gitdir: ../v' > vendor/.git; touch vendored
#= the vendored one moved below
mkdir x; mv vendor x; cp -r x/vendor vendor; (cd vendor/.git; e > config); touch vendored
#= the vendored one by exchange
cp -r vendor v; mv v/.git v/g; e > v/g/config; xchg v/g vendor/.git; touch vendored
#= the vendored one, configuration gone
mv vendor/.git vendor/g; rm vendor/g/config; e > vendor/g/config; mv vendor/g vendor/.git; touch vendored
#= the vendored one, checked out from a tree
rm -rf vendor; mkdir vendor; git -C vendor init -q; printf '[core]\n\tfsmonitor = touch %s\n' $PWN | git hash-object -w --stdin > h; git update-index --add --cacheinfo 100644,$(cat h),cfg; git checkout-index --prefix=vendor/.git/x/ cfg; mv vendor/.git/x/cfg vendor/.git/config; touch vendored
#= a race of exchanges
mkdir sub t; git init -q sub; mkdir t/x; head t/x; py 'import threading,time
end=time.time()+1.2
def swap():
  while time.time()<end: L.renameat2(-100,b"t/x",-100,b"sub/.git",2)
def write():
  while time.time()<end:
    try: open("t/x/config","w").write(EVIL)
    except OSError: pass
for f in (swap,write): threading.Thread(target=f).start()'; test -n "$WALLS" || e > sub/.git/config
#= a race for the head
mkdir sub b; mkdir b/objects b/refs; echo 'gitdir: ../b' > sub/.git; py 'import threading,time
end=time.time()+1.2
def head():
  while time.time()<end:
    try: open("b/HEAD","w").write("ref: refs/heads/main\n"); os.unlink("b/HEAD")
    except OSError: pass
  try: open("b/HEAD","w").write("ref: refs/heads/main\n")
  except OSError: pass
def config():
  while time.time()<end+.1:
    try: open("b/config","w").write(EVIL)
    except OSError: pass
for f in (head,config): threading.Thread(target=f).start()'
#= a race of a directory on the way
mkdir -p sub a/q c; head c/q; git init -q t; mv t/.git a/q/.git; py 'import threading,time
end=time.time()+1.2
def turn():
  while time.time()<end:
    L.renameat2(-100,b"a",-100,b"c",2)
def write():
  while time.time()<end:
    for n in ("a/q/.git/config","c/q/.git/config","a/q/config"):
      try: open(n,"w").write(EVIL)
      except OSError: pass
for f in (turn,write): threading.Thread(target=f).start()'; rm -rf sub; for d in a c; do test -d $d/q/.git && mv $d/q sub; done
#= the vendored one moved away, a copy with a hook
own vendor; mv vendor old; cp -r old vendor; hook vendor/.git/hooks/post-index-change; touch -d @1000000000 vendor/f; touch vendored
#= the vendored one moved away, another cloned
mv vendor old; git clone -q old vendor; own vendor; hook vendor/.git/hooks/post-index-change; touch vendored
#= the vendored one moved away, a bare one with hooks moved in
mv vendor old; git clone -q --bare old b; hook b/hooks/post-index-change; e > b/config; mkdir vendor; mv b vendor/.git; touch vendored
#= the vendored one moved away and back, changed between
mv vendor old; e >> old/.git/config; mv old vendor; touch vendored
#= the vendored one moved to a deep place and changed by a descriptor
mkdir -p a/b; exec 3< vendor/.git; mv vendor a/b/v; e > /proc/self/fd/3/config; mv a/b/v vendor; touch vendored
#= the directories around two exchanged
mkdir x; mkdir x/vendor; e > x/vendor/c; mv vendor y; mv x/vendor vendor; mkdir vendor/.git; mv y/.git/* vendor/.git; mv vendor/c vendor/.git/config; touch vendored
#= the vendored one a link to another
mv vendor old; evil t/.git; ln -s t vendor; git update-index --force-remove vendor; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),t; echo t > look
#= the vendored one removed and initialised by a template
rm -rf vendor; mkdir -p t/hooks; hook t/hooks/post-index-change; git init -q --template=t vendor; own vendor; touch vendored
#= the vendored one's git directory alone, by another with a hook
mv vendor/.git g; cp -r g h; hook h/hooks/post-index-change; mv h vendor/.git; echo x > vendor/f; git -C vendor add f; touch -d @1000000000 vendor/f; touch vendored
#= the vendored one from a clone of a worktree
git -C vendor worktree add -q ../w; mv vendor old; mv w vendor; e > old/.git/worktrees/w/config.worktree; git -C old config extensions.worktreeConfig true; git -C old worktree repair ../vendor; echo vendor > look
#= another branch's vendored one by a checkout
git switch -qc b; git rm -qf --cached vendor; mkdir t; mv vendor t; evil vendor/.git; git switch -qf main; touch vendored
