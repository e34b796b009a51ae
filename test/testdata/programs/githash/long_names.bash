set -e
for i in 1 2; do
	git init -q --object-format=sha256 a; cd a; seq 500 | xargs touch; mkdir d; touch d/x 'a b'
	git add .; git -c user.name=a -c user.email=a@b commit -qm x; git worktree add -q ../b; cd ..
	cp -r a c; mv c d; git -C d status --short; git clone -q a e; git -C e status --short
	git -C a worktree remove b; rm -rf a d e
done
