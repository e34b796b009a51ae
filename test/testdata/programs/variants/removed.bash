# Each part is one way to make something with repositories or protected names in it, in the
# run that comes first (what "setup" makes is there before), and one to remove it in the next.
#= rm
repo c
#- removed
rm -rf c
#= rm, in the directory
repo c
#- removed
cd c && rm -rf ../c
#= rm of a layout of dependencies
repo s; for d in foo bar; do git clone -q s build/_deps/$d-src; mkdir -p build/_deps/$d-build build/_deps/$d-subbuild; done; repo build/_deps/foo-subbuild/x
#- removed
rm -rf build s
#= rm, by the process's directory
repo c
#- removed
rm -rf /proc/self/cwd/c
#= rm by links
repo c; ln -s c l
#- removed
rm -rf l/.git && rm -rf l && rm -rf c
#= a link to a directory with a repository
repo c; mkdir x; ln -s ../c x/c
#- removed
rm -rf x
#= the git directory alone
repo c
#- removed
rm -rf c/.git
#= the git directory, and a new one
repo c
#- removed
rm -rf c/.git && git init -q c && git -C c add . && git -C c commit -qm again && git -C c fsck
#= git directories, wherever they are
for d in a b/c b/c/d; do repo v/$d; done
#- removed
find v -name .git -prune -exec rm -rf {} +
#= find -delete
repo a/b
#- removed
find a -delete
#= find and rmdir
repo a/b
#- removed
find a -depth \( -type d -exec rmdir {} \; -o -exec rm -f {} \; \)
#= xargs
repo a/b
#- removed
find a ! -type d -print0 | xargs -0 rm -f && find a -depth -type d -print0 | xargs -0 rmdir
#= git clean
repo a; repo b/c; git init -q --bare x.git; repo ign/d; echo ign > .gitignore
#- removed
git clean -qffdx
#= git clean of what is ignored
echo ign > .gitignore; repo ign/d
#- removed
git clean -qffdX
#= git clean with a worktree
git worktree add -q w/t
#- removed
git clean -qffdx && git worktree prune && git branch -qD t
#= git worktree remove
git worktree add -q w
#- removed
git worktree remove w && git branch -qD w
#= git worktree remove, changed
git worktree add -q -b a/b w; echo x > w/new; git -C w add new
#- removed
git worktree remove --force w && git branch -qD a/b
#= git worktree remove, locked
git worktree add -q w; git worktree lock --reason x w
#- removed
git worktree unlock w && git worktree remove w && git branch -qD w
#= git worktree prune
git worktree add -q w; git worktree add -q v
#- removed
rm -rf w v && git worktree prune -v && git branch -qD w v
#= a worktree below a worktree
git worktree add -q w; git -C w worktree add -q v
#- removed
git worktree remove --force w/v && git worktree remove w && git branch -qD w v
#= worktrees that were there
#- setup
git worktree add -q w; git worktree add -q v; git config extensions.worktreeConfig true; git -C v config --worktree core.sparseCheckout true
#- inside
:
#- removed
git worktree remove w && rm -rf v && git worktree prune && git branch -qD w v
#= a worktree of a repository made inside
repo c; git -C c worktree add -q ../w
#- removed
rm -rf w && git -C c worktree prune && rm -rf c
#= a repository with worktrees, whole
repo x/c; git -C x/c worktree add -q ../w
#- removed
rm -rf x
#= git submodule deinit
repo s; git -c protocol.file.allow=always submodule --quiet add ./s m; git commit -qm m
#- removed
git submodule --quiet deinit -f m && git rm -qf m && rm -rf .git/modules/m s && git reset -q --hard HEAD^
#= git submodule deinit, all
repo s; git -C s -c protocol.file.allow=always submodule --quiet add ../vendor n; git -C s commit -qm n; git -c protocol.file.allow=always submodule --quiet add ./s m; git -c protocol.file.allow=always submodule --quiet update --init --recursive m; git commit -qm m
#- removed
git submodule --quiet deinit --all -f && rm -rf .git/modules/m s && git rm -qf m && git reset -q --hard HEAD^
#= git submodule update, again
#- setup
repo s; git -c protocol.file.allow=always submodule --quiet add ./s m; git commit -qm m
#- inside
git submodule --quiet deinit -f m && git -c protocol.file.allow=always submodule --quiet update --init m
#- removed
rm -rf m .git/modules/m && mkdir m && git -c protocol.file.allow=always submodule --quiet update --init m && git -C m fsck
#= a submodule that was there, by rm
#- setup
repo s; git -c protocol.file.allow=always submodule --quiet add ./s m; git commit -qm m
#- inside
git -C m commit -q --allow-empty -m two
#- removed
git rm -qf m && rm -rf .git/modules && git config --remove-section submodule.m
#= git submodule absorbgitdirs
repo m; git add m; git commit -qm m; git submodule --quiet add https://example.com/x.git m
#- removed
git submodule absorbgitdirs m; git rm -qf --cached m; git config --remove-section submodule.m; rm -rf m .git/modules .gitmodules; git reset -q --hard HEAD^
#= git rm of a directory with one inside
mkdir d; echo x > d/x; git add d; git commit -qm d; repo d/c
#- removed
git rm -rqf d && rm -rf d && git reset -q --soft HEAD^
#= a branch that has no such directory
git switch -qc side; mkdir d; echo x > d/x; git add d; git commit -qm d; repo d/c
#- removed
git switch -q main; git branch -qD side; git clean -qffd
#= git stash with everything
echo x > u; repo c
#- removed
git stash -qa && git stash drop -q && rm -rf c
#= a clone that fails
:
#- removed
! git clone -q file:///nowhere c && ! git clone -q --recurse-submodules file:///nowhere d && git clone -q vendor e && rm -rf e
#= cloned again and again
repo s
#- removed
for i in 1 2 3; do rm -rf c && git clone -q s c || exit; done; rm -rf c s
#= shutil.rmtree
repo a/b
#- removed
py 'shutil.rmtree("a")'
#= shutil.rmtree without descriptors
repo a/b
#- removed
py 'shutil._use_fd_functions = False; shutil.rmtree("a")'
#= os.removedirs
git init -q a/b; find a ! -type d -delete
#- removed
py 'import os
for r, d, f in os.walk("a", topdown=False): os.rmdir(r)'
#= a temporary directory
py 'import tempfile; d = tempfile.mkdtemp(dir="."); os.rename(d, "t")'; repo t/c
#- removed
py 'shutil.rmtree("t", onerror=lambda *a: os._exit(9))'
#= fs.rmSync
repo a/b
#- removed
node -e 'fs.rmSync("a", {recursive: true})'
#= fs.promises.rm
repo a/b; repo c
#- removed
node -e 'Promise.all(["a", "c"].map(d => fs.promises.rm(d, {recursive: true, force: true}))).catch(e => process.exit(9))'
#= os.RemoveAll
repo a/b
#- removed
$HOME/src/desk/removeall a
#= File::Path
repo a/b
#- removed
perl -MFile::Path=remove_tree -e 'remove_tree("a", {error => \my $e}); exit @$e'
#= one directory after the other, by their descriptors
repo a/b
#- removed
py 'def gone(d):
  for e in os.listdir(d):
    try: os.unlink(e, dir_fd=d)
    except IsADirectoryError:
      f = os.open(e, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=d); gone(f); os.close(f); os.rmdir(e, dir_fd=d)
f = os.open("a", 0); gone(f); os.rmdir("a")'
#= many at once
for i in 1 2 3 4 5 6; do repo p/$i; done
#- removed
ls p | xargs -P6 -I{} rm -rf p/{} && rmdir p
#= moved away first
repo a/b
#- removed
mv a .trash-1 && rm -rf .trash-1
#= moved to another file system
repo a/b
#- removed
mv a /tmp/a-$N && rm -rf /tmp/a-$N
#= moved below another
repo a/b; mkdir t
#- removed
mv a/b t/x && rmdir a && rm -rf t
#= moved over an empty directory
repo a; mkdir b
#- removed
mv -T a b && rm -rf b
#= exchanged for an empty directory
repo a; mkdir b
#- removed
py 'L.renameat2(-100, b"a", -100, b"b", 2)' && rmdir a && rm -rf b
#= rsync --delete
repo a/b; repo a/.c; mkdir e
#- removed
rsync -a --delete e/ a/ && rmdir a e
#= rsync --delete from a tree
repo s; rsync -a s/ a; echo x > a/new; repo a/sub; rm -rf s/.git
#- removed
rsync -a --delete --delete-excluded s/ a/ && rm -rf a s
#= rsync --delete-delay
repo a/b; mkdir e
#- removed
rsync -rlt --delete-delay --force e/ a/ && rmdir a e
#= tar --recursive-unlink
mkdir b; echo x > b/x; tar cf b.tar b; rm -rf b; repo b/c
#- removed
tar xf b.tar --recursive-unlink && test -f b/x && rm -rf b b.tar
#= tar --unlink-first, a file over a repository
repo b; mkdir t; echo x > t/b; tar cf b.tar -C t b
#- removed
tar xf b.tar --recursive-unlink && test -f b && rm -rf b b.tar t
#= tar --remove-files
repo b
#- removed
tar cf b.tar --remove-files b && rm b.tar
#= cp --remove-destination
repo a; cp -a a b
#- removed
cp -a --remove-destination a/[^.]* b/ && git -C b status && rm -rf a b
#= packed and unpacked
repo a
#- removed
tar cf a.tar a && rm -rf a && tar xf a.tar && git -C a fsck && rm -rf a a.tar
#= a repository of modules
for d in a @s/b; do repo node_modules/$d; echo '{}' > node_modules/$d/package.json; done
#- removed
node -e 'fs.rmSync("node_modules/a", {recursive: true, maxRetries: 3}); fs.rmSync("node_modules", {recursive: true})'
#= a virtual environment with sources
mkdir -p venv/src venv/bin; repo venv/src/x; touch venv/bin/activate; chmod 755 venv/bin/activate
#- removed
rm -rf venv
#= repositories in repositories
repo a; repo a/b; repo a/b/c; git init -q a/b/c/d
#- removed
rm -rf a
#= bare ones
git init -q --bare a.git; git clone -q --bare vendor b.git; git clone -q --mirror vendor c
#- removed
rm -rf a.git b.git c
#= a bare one, piece by piece
git clone -q --bare vendor b
#- removed
rm b/HEAD && rm -rf b/refs && rm -rf b/objects && rm -rf b/hooks && rm b/config && rm -rf b
#= a bare one, configuration first
git clone -q --bare vendor b
#- removed
rm b/config && rm -rf b/hooks b/info && rm -rf b
#= a separate git directory
git init -q --separate-git-dir=$PWD/sep w; echo x > w/x
#- removed
rm -rf w sep
#= a separate git directory, in the other order
git init -q --separate-git-dir=$PWD/sep w; echo x > w/x
#- removed
rm -rf sep && rm -rf w
#= borrowed objects
repo s; git clone -q -s s c; git clone -q -l s d
#- removed
rm -rf s c d
#= a shallow clone and a sparse one
repo s; git clone -q --depth 1 file://$PWD/s c; git clone -q --sparse s d
#- removed
rm -rf s c d
#= with a lock left
repo c; touch c/.git/config.lock c/.git/index.lock
#- removed
rm -rf c
#= broken ones
repo c; rm c/.git/HEAD; repo d; rm -rf d/.git/objects; mkdir -p e/.git/hooks; repo f; : > f/.git/config
#- removed
rm -rf c d e f
#= packed, with hooks' directory gone
repo c; rm -rf c/.git/hooks c/.git/info; git -C c gc -q; git -C c pack-refs --all
#- removed
rm -rf c
#= odd names
repo $'a\nb'; repo 'c d'; repo $'\377x'; repo -- 2> /dev/null; repo '.git-x'
#- removed
rm -rf $'a\nb' 'c d' $'\377x' .git-x
#= fifos and sockets beside
repo c; mkfifo c/p; py 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("c/s")'; rm c/s
#- removed
rm -rf c
#= long ways down
D=$(printf 'dddddddddd/%.0s' {1..40}); mkdir -p $D; repo ${D}c
#- removed
rm -rf dddddddddd
#= Mercurial
hg init h && echo x > h/x && hg -R h commit -qAm x -u x
#- removed
rm -rf h
#= Mercurial, there before
#- setup
hg init h && echo x > h/x && hg -R h commit -qAm x -u x; printf '[ui]\nusername = x\n' > h/.hg/hgrc
#- inside
:
#- removed
rm -rf h/.hg && rm -rf h
#= Jujutsu's layout
#- setup
repo j; mkdir -p j/.jj/repo/store j/.jj/working_copy; echo x > j/.jj/repo/config.toml; echo x > j/.jj/working_copy/type
#- inside
:
#- removed
rm -rf j
#= protected names of all kinds, made inside
mkdir -p p/q; for d in .vscode .idea .cursor .devcontainer; do mkdir p/q/$d; echo '{}' > p/q/$d/settings.json; done; for f in CLAUDE.md AGENTS.md; do echo x > p/q/$f; done; repo p/q/c
#- removed
rm -rf p
#= a token in a remote
#- setup
repo c; git -C c remote set-url origin https://u:ghp_0123456789abcdefghijklmnopqrstuvwxyz@example.com/x.git
#- inside
:
#- removed
rm -rf c
#= one that was there, with what runs
#- setup
repo c; git -C c config core.fsmonitor false; git -C c config alias.x '!id'; printf '#!/bin/sh\n' > c/.git/hooks/post-merge; chmod +x c/.git/hooks/post-merge; mkdir c/.git/info 2> /dev/null; echo '* filter=x' > c/.git/info/attributes
#- inside
git -C c commit -q --allow-empty -m two
#- removed
rm -rf c
#= one that was there, by find
#- setup
repo x/c; git -C x/c config core.hooksPath tools; mkdir x/c/tools; printf '#!/bin/sh\n' > x/c/tools/pre-commit; chmod +x x/c/tools/pre-commit
#- inside
:
#- removed
find x -delete
#= one that was there, by git clean
#- setup
repo x/c; git -C x/c config core.fsmonitor false; git clone -q --bare vendor x/b.git; printf '#!/bin/sh\n' > x/b.git/hooks/post-receive
#- inside
:
#- removed
git clean -qffdx
#= one that was there, moved away
#- setup
repo x/c; git -C x/c config core.fsmonitor false
#- inside
:
#- removed
mv x y && rm -rf y
#= one that was there, by shutil
#- setup
repo x/c; git -C x/c config core.fsmonitor false; ln -s c x/l
#- inside
:
#- removed
py 'shutil.rmtree("x")'
#= one that was there, by rsync
#- setup
repo x/c; git -C x/c config core.fsmonitor false; mkdir e
#- inside
:
#- removed
rsync -a --delete e/ x/ && rmdir e x
#= one that was there, with worktrees and submodules
#- setup
repo x/c; git -C x/c config core.fsmonitor false; git -C x/c worktree add -q ../w; repo x/s; git -C x/c -c protocol.file.allow=always submodule --quiet add ../s m
#- inside
:
#- removed
rm -rf x
#= git worktree move
git worktree add -q w
#- removed
git worktree move w v && git worktree remove v && git branch -qD w
#= modules that cannot be written
repo m/x@v1; chmod -R a-w m
#- removed
chmod -R u+w m && rm -rf m
#= directories that cannot be written
repo m; chmod 500 m/d m/.git m/.git/hooks; chmod 400 m/.git/config
#- removed
chmod 700 m/d && chmod -R u+rwX m && rm -rf m
