import Posture
