#include "noisefloor/cli/app.h"

int main(int argc, char** argv) { return noisefloor::cli::run(argc, argv); }
